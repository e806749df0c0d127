"""Fill the access log of DATABASE_URL (PostgreSQL) with generated days up to now: a child of bench.log_pages.

   python -m bench.fill_log --rows 10000000 --days 30

The database generates the rows, day by day, into the product's partitions and indexes; the counts are computed from the
rows. Clients, hosts, paths, subjects and rules are Zipf-distributed; some values are rare. One row in 20 has a rule.
"""

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import django

django.setup()

from django.db import connection, transaction  # noqa: E402 - needs Django

from audit.counting.counts import EXACT, KEYS, MINUTE  # noqa: E402 - needs Django
from audit.storage import partitions  # noqa: E402 - needs Django

_AT_ONCE = 2
_ROWS = """
INSERT INTO audit_accesslog (decision_id, at, node, client_ip, client_key, country_code, method, scheme, host, path,
    query, user_agent, status, outcome, reason, decided_by_kind, decided_by_id, rules, credential, visible,
    subject_kind, subject_id, subject_name, latency_us, policy_revision)
SELECT uuidv7(at - clock_timestamp()), at, 'node-' || number %% 2,
    CASE WHEN rare THEN '198.51.100.7' WHEN client %% 5 = 0 THEN '2001:db8::' || to_hex(client)
         ELSE '11.0.' || client / 256 || '.' || client %% 256 END,
    CASE WHEN rare THEN '4c6336407' WHEN client %% 5 = 0 THEN '620010db8' || lpad(to_hex(client), 24, '0')
         ELSE '4' || lpad(to_hex(184549376 + client), 8, '0') END,
    (ARRAY['DE', 'FR', 'NZ', 'US', 'JP', NULL])[1 + client %% 6],
    CASE WHEN chance < 0.9 THEN 'GET' ELSE 'POST' END, 'https',
    CASE WHEN rare THEN 'rare.example.com' ELSE 'app' || host || '.example.com' END,
    '/' || (ARRAY['projects', 'issues', 'wiki', 'files', 'people', 'reports'])[1 + page %% 6] || '/' || page,
    CASE WHEN page %% 3 = 0 THEN 'tab=open&sort=-updated&page=' || number %% 9 ELSE '' END,
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/' || 100 + client %% 50
        || '.0 Safari/537.36',
    CASE WHEN signed_in THEN 200 WHEN attacks THEN 403 ELSE 401 END,
    CASE WHEN signed_in THEN 'allow' WHEN attacks THEN 'deny' ELSE 'challenge' END,
    CASE WHEN rare THEN 'cannot-decide' WHEN signed_in THEN 'session-valid' WHEN attacks THEN 'waf-rule'
         ELSE 'credential-missing' END,
    CASE WHEN attacks THEN 'waf-rules' END, CASE WHEN attacks THEN rule END,
    CASE WHEN attacks THEN jsonb_build_array(jsonb_build_object('id', rule, 'name', 'rule ' || rule, 'action', 'block'))
         ELSE '[]' END,
    CASE WHEN signed_in THEN '{"kind":"session-cookie","amr":["pwd"],"state":"valid"}'::jsonb END,
    '["for","host","method","proto","uri"]', CASE WHEN signed_in OR rare THEN 'user' END,
    CASE WHEN signed_in OR rare THEN subject END, CASE WHEN signed_in OR rare THEN 'person' || subject END,
    200 + (800 * chance)::int, 7
FROM (
    SELECT number, at, rare, client, host, page, chance, CASE WHEN rare THEN 999 ELSE rule END AS rule,
        CASE WHEN rare THEN 999 ELSE subject END AS subject,
        chance < 0.85 AND NOT rare AS signed_in, chance >= 0.85 AND chance < 0.9 OR rare AS attacks
    FROM (
        SELECT number, %(day)s::timestamptz + number * interval '1 day' / %(a_day)s AS at, random() AS chance,
            number = 77 AND extract(day FROM %(day)s::timestamptz)::int %% 5 = 0 AS rare,
            power(50000, random())::int AS client, power(50, random())::int AS host,
            power(200000, random())::int AS page, power(500, random())::int AS subject, power(40, random())::int AS rule
        FROM generate_series(0, %(rows)s - 1) AS number
    ) AS dice
) AS made
"""
_RULES = """
INSERT INTO audit_accesslogrule (rule_id, at, decision_id)
SELECT decided_by_id, at, decision_id FROM audit_accesslog
WHERE at >= %(day)s AND at < %(day)s::timestamptz + interval '1 day' AND decided_by_kind = 'waf-rules'
"""
_TALLY = """
CREATE TEMPORARY TABLE tally ON COMMIT DROP AS
SELECT kind, date_bin(make_interval(secs => %(minute)s), at, 'epoch') AS start, key, count(*) AS number
FROM audit_accesslog CROSS JOIN LATERAL (VALUES
    ('outcome', outcome), ('reason', reason), ('status', status::text), ('country', coalesce(country_code, '')),
    ('latency', (CASE WHEN latency_us < 1000 THEN ceil(latency_us / 10.0) * 10
                      ELSE ceil(latency_us / 100.0) * 100 END)::int::text),
    ('client', client_ip), ('path', path), ('host', host), ('rule', decided_by_id || ' rule ' || decided_by_id),
    ('deny-reason', CASE WHEN outcome = 'deny' THEN reason END),
    ('denied-client', CASE WHEN outcome = 'deny' THEN client_ip END)
) AS keys (kind, key)
WHERE at >= %(day)s AND at < %(day)s::timestamptz + interval '1 day' AND key IS NOT NULL
GROUP BY 1, 2, 3
"""
_INDEXES = """
SELECT relname, pg_get_indexdef(oid) FROM pg_class
WHERE relkind = 'I' AND oid IN (SELECT indexrelid FROM pg_index WHERE NOT indisprimary
    AND indrelid::regclass::text IN ('audit_accesslog', 'audit_accesslogrule'))
"""
# Like ``Summary.cut``: the first count beyond the limit is subtracted from the others.
_SPANS = """
INSERT INTO audit_spancount (kind, width, start, error, counts)
SELECT kind, %(width)s, start, off,
    coalesce(jsonb_object_agg(key, number - off) FILTER (WHERE number > off), '{}')::text
FROM (
    SELECT kind, start, key, number,
        CASE WHEN kind = ANY(%(exact)s) THEN 0
             ELSE coalesce(nth_value(number, %(keys)s + 1) OVER (
                 PARTITION BY kind, start ORDER BY number DESC ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
             ), 0) END AS off
    FROM (
        SELECT kind, date_bin(make_interval(secs => %(width)s), start, 'epoch') AS start, key,
            sum(number)::bigint AS number
        FROM tally GROUP BY 1, 2, 3
    ) AS counted
) AS bounded
GROUP BY kind, start, off
"""


def main() -> None:
    """Fill the log, and print the time it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument(
        "--indexes-last",
        action="store_true",
        help="build them at the end: faster, but denser than shipping leaves them",
    )
    options = parser.parse_args()
    began, now = time.monotonic(), datetime.now(UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    days = [today - timedelta(days=number) for number in range(options.days, -1, -1)]
    for day in days:  # in advance, like the agent: creating one waits for all writers
        partitions.prepare([day.date()], day.date())
    a_day = options.rows // options.days
    indexes = _indexes_built_at_the_end() if options.indexes_last else nullcontext()
    with indexes, ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda day: _fill(day, a_day, min(now - day, timedelta(days=1))), days))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE audit_accesslog, audit_accesslogrule, audit_spancount")
    print(f"{time.monotonic() - began:.0f} s")  # noqa: T201 - a command


@contextmanager
def _indexes_built_at_the_end() -> Iterator[None]:
    """Drop the indexes of the log, but for its keys, until the end of the block."""
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES)
        indexes = cursor.fetchall()
        for name, _definition in indexes:
            cursor.execute(f'DROP INDEX "{name}"')
    yield
    with connection.cursor() as cursor:
        cursor.execute("SET maintenance_work_mem = '1GB'")
        for _name, definition in indexes:
            cursor.execute(definition.replace(" ON ONLY ", " ON "))  # on the partitions too


def _fill(day: datetime, a_day: int, length: timedelta) -> None:
    """Fill a day, or its beginning, in one transaction."""
    rows = int(a_day * (length / timedelta(days=1)))
    values: dict[str, Any] = {"day": day, "rows": rows, "a_day": a_day, "minute": MINUTE, "exact": list(EXACT)}
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_ROWS, values)
            cursor.execute(_RULES, values)
            cursor.execute(_TALLY, values)
            for width, keys in KEYS.items():
                cursor.execute(_SPANS, {**values, "width": width, "keys": keys})
    finally:
        connection.close()


if __name__ == "__main__":
    main()
