"""Fill the lists of an SQLite installation and time pages of them: a child of bench.lists.

   python -m bench.ask_lists --rows 1000000 --people 100000

Reads a question's number and a number of pages per line, and prints CPU milliseconds per page (SQLite's included), the
maximum of statements per page, and the rows. Uses Django's test client with an admin's token: no server or network.
"""

import argparse
import json
import statistics
import sys
import time
import uuid
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402 - needs Django
from django.db import connection, transaction  # noqa: E402 - needs Django
from django.test import Client  # noqa: E402 - needs Django
from django.test.utils import CaptureQueriesContext, setup_test_environment  # noqa: E402 - needs Django
from django.utils import timezone  # noqa: E402 - needs Django

from accounts import services, tokens  # noqa: E402 - needs Django
from accounts.sign_in import login  # noqa: E402 - needs Django
from accounts.visitor import Visitor  # noqa: E402 - needs Django
from bench.questions import QUESTIONS  # noqa: E402 - needs Django
from gatewall.policy import system_settings  # noqa: E402 - needs Django

_CALLS_A_MINUTE = 1_000_000
_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s) "
_MADE = "strftime('%%Y-%%m-%%d %%H:%%M:%%f000', '2026-11-01', '-' || (i * 7919 %% 8640000) || ' seconds')"
_NETWORKS = f"""
INSERT INTO policies_blocklistentry (created_at, created_by, network, remark, expires_at, source)
{_NUMBERS} SELECT {_MADE}, 'person' || i %% 100,
       (11 + i / 65536 %% 64) || '.' || (i / 256 %% 256) || '.' || (i %% 256) || '.' || (i / 4194304), '',
       CASE WHEN i %% 4 = 0
       THEN strftime('%%Y-%%m-%%d %%H:%%M:%%f000', '2027-01-01', (i * 31 %% 8640000) || ' seconds') END,
       CASE WHEN i %% 10 = 0 THEN 'manual' ELSE 'import:bench' END FROM n
"""  # noqa: S608 - parts of our own
_PEOPLE = f"""
INSERT INTO accounts_user (created_at, created_by, password, username, email, is_admin, is_active, all_domains, remark,
       session_version)
{_NUMBERS} SELECT {_MADE}, 'person' || i %% 100, '!', 'many' || i, 'many' || i || '@example.com', 0, 1, 1, '', 1 FROM n
"""  # noqa: S608 - parts of our own
_GIT_TOKENS = """
INSERT INTO licensing_gittoken (created_at, created_by, name, prefix, digest, expires_at, user_id)
SELECT created_at, created_by, 'laptop', 'gwg_' || printf('%%06d', id), printf('%%064d', id), NULL, id
FROM accounts_user
"""
_LICENSES = """
INSERT INTO licensing_license (created_at, created_by, name, prefix, digest, expires_at, is_active, all_domains, remark)
SELECT created_at, created_by, 'machine ' || id, 'gwl_' || printf('%%06d', id), printf('%%064d', id), NULL, 1, 1, ''
FROM accounts_user
"""
_LOG = f"""
INSERT INTO audit_accesslog (decision_id, at, node, client_ip, client_key, country_code, method, scheme, host, path,
       query, user_agent, status, outcome, reason, decided_by_kind, decided_by_id, rules, credential, visible,
       subject_kind, subject_id, subject_name, latency_us, policy_revision)
{_NUMBERS} SELECT printf('%%032x', i),
       strftime('%%Y-%%m-%%d %%H:%%M:%%f000', '2026-11-01', '-' || (i * 2) || ' seconds'), 'node',
       '11.0.' || (i * 7919 / 256 %% 16) || '.' || (i * 7919 %% 256),
       printf('40b00%%02x%%02x', i * 7919 / 256 %% 16, i * 7919 %% 256), 'NZ', 'GET', 'https',
       'app' || (i * 31 %% 50) || '.example.com', '/wiki/' || i, '', 'curl/8', 200, 'allow',
       CASE WHEN i %% 20 = 0 THEN 'waf-rule' ELSE 'session-valid' END, NULL, NULL, '[]', NULL, '[]', 'user',
       i * 17 %% 500, 'many', 400, 1 FROM n
"""  # noqa: S608 - parts of our own


def main() -> None:
    """Fill the lists, then answer questions until the end of input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--people", type=int, required=True)
    options = parser.parse_args()
    setup_test_environment()
    system_settings.change(actor="bench", api_requests_per_minute=_CALLS_A_MINUTE)
    client = _client()
    _fill(options.rows, options.people)
    print("ready", flush=True)  # noqa: T201 - a command
    for line in sys.stdin:
        number, pages = map(int, line.split())
        print(json.dumps(_timed_pages(client, number, pages)), flush=True)  # noqa: T201 - the same


def _client() -> Client:
    admin = services.create_user(actor="bench", username=f"b-{uuid.uuid4()}", password="bench bench", is_admin=True)
    visitor, now = Visitor("192.0.2.7", "bench"), timezone.now()
    token = login.start_session(admin, audiences=(tokens.GATE, tokens.API), amr=("pwd",), visitor=visitor, at=now)
    return Client(headers={"Service-Authorization": token.text})


@transaction.atomic
def _fill(rows: int, people: int) -> None:
    with connection.cursor() as cursor:
        for statement, number in ((_NETWORKS, rows), (_PEOPLE, people), (_LOG, rows)):
            cursor.execute(statement, [number])
        cursor.execute(_GIT_TOKENS, [])
        cursor.execute(_LICENSES, [])


def _timed_pages(client: Client, number: int, pages: int) -> dict[str, Any]:
    """Time consecutive pages by their ``next``, restarting after the last page."""
    path, parameters = QUESTIONS[number].path, {**QUESTIONS[number].parameters, "page_size": 10}
    first = f"{settings.ROOT_PATH}{path}?" + "&".join(f"{name}={value}" for name, value in parameters.items())
    target, statements, rows, used = first, [], 0, 0.0
    for page in range(pages):
        began = time.process_time()
        if page % 10:
            body = _body(client, target)
        else:
            with CaptureQueriesContext(connection) as queries:
                body = _body(client, target)
            statements.append(len(queries))
        used += time.process_time() - began
        rows += len(body["results"])
        target = body["next"] or first
    return {"ms": used / pages * 1000, "statements": statistics.mode(statements), "rows": rows}


def _body(client: Client, target: str) -> Any:
    response = client.get(target)
    if response.status_code != 200:
        raise SystemExit(f"{target}: {response.status_code} {response.content[:500]!r}")
    return response.json()


if __name__ == "__main__":
    main()
