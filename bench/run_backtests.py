"""Fill an access log, or replay it under drafts and print the figures as JSON: a child of bench.backtest."""

import argparse
import json
import random
import resource
import sys
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402 - needs Django
from django.db import connection, transaction  # noqa: E402 - needs Django

from accounts.models import User  # noqa: E402 - needs Django
from audit.spool.records import AccessRecord  # noqa: E402 - needs Django
from audit.spool.rows import COLUMNS, row_of  # noqa: E402 - needs Django
from bench.traffic import ATTACKS, client, page, zipf_number  # noqa: E402 - needs Django
from gatewall.engine.waf.matcher import WAITING  # noqa: E402 - needs Django
from gatewall.gate.countries import Countries  # noqa: E402 - needs Django
from gatewall.policy import revisions, system_settings  # noqa: E402 - needs Django
from gatewall.policy.resources import Write  # noqa: E402 - needs Django
from gatewall.replay.change_history import ChangeHistory  # noqa: E402 - needs Django
from gatewall.replay.comparison import Comparison  # noqa: E402 - needs Django
from gatewall.snapshot.host_paths import policy_files  # noqa: E402 - needs Django
from gatewall.whatif.backtest import trial, window, workers  # noqa: E402 - needs Django
from gatewall.whatif.backtest.drafts import Draft  # noqa: E402 - needs Django
from gatewall.whatif.backtest.proposals import Proposal, WholeDocument  # noqa: E402 - needs Django
from gatewall.whatif.backtest.running import compare  # noqa: E402 - needs Django
from gatewall.whatif.backtest.window import Slice  # noqa: E402 - needs Django
from gatewall.whatif.change_histories import MAX_REVISIONS  # noqa: E402 - needs Django
from gatewall.whatif.hypothetical import Policies, policies_with  # noqa: E402 - needs Django
from policies.document.reading import read  # noqa: E402 - needs Django
from policies.models import AuthorizedDomain  # noqa: E402 - needs Django

_ALL = 100_000_000
_AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36"
_PIECE = 10_000
_SETTINGS: dict[str, dict[str, Any]] = {
    "WAF to monitor": {"waf_mode": "monitor"},
    "a higher WAF threshold": {"waf_threshold": 10},
    "registered hosts only": {"authorized_domains_mode": "registered"},
    "a request rate": {"request_rate_per_minute": 60},
}
"""Changes of settings, most of which touch every request."""


def main() -> None:
    """Fill, or run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fill", type=int, default=0)
    options = parser.parse_args()
    if options.fill:
        fill(options.fill)
    else:
        print(json.dumps(figures()))  # noqa: T201 - a command


def fill(number: int) -> None:
    """Insert this many rows of the last day, as recorded under the current policy."""
    chance, now = random.Random(9), datetime.now(UTC)  # noqa: S311 - examples, no secrets
    people, revision = list(User.objects.values_list("id", "username")), revisions.current().revision
    names, marks = ", ".join(COLUMNS), ", ".join(["%s"] * len(COLUMNS))
    statement = f"INSERT INTO audit_accesslog ({names}) VALUES ({marks})"  # noqa: S608 - names of ours
    for start in range(0, number, _PIECE):
        rows = [
            _row(now - timedelta(days=1) * ((number - each) / number), people, revision, chance)
            for each in range(start, min(start + _PIECE, number))
        ]
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(statement, rows)


def _row(at: datetime, people: list[Any], revision: int, chance: random.Random) -> tuple[Any, ...]:
    kind, (user_id, name) = chance.random(), chance.choice(people)
    attacks, signed_in = kind < 0.05, kind >= 0.15
    target = chance.choice(ATTACKS) if attacks else page(chance)
    path, _, query = target.partition("?")
    outcome, reason, status = (
        ("allow", "session-valid", 200) if signed_in else ("deny", "waf-rule", 403) if attacks else _ASKED
    )
    record = AccessRecord(
        decision_id=str(uuid.UUID(int=chance.getrandbits(128))),
        at=at.timestamp(),
        client_ip=client(chance),
        country_code=None,
        method="GET",
        scheme="https",
        host=f"app{zipf_number(50, chance)}.example.com",
        path=path,
        query=query,
        user_agent=_AGENT,
        status=status,
        outcome=outcome,
        reason=reason,
        decided_by={"kind": "waf-rules", "id": 1} if attacks else None,
        rules=[{"id": each, "name": f"rule {each}", "action": "block"} for each in (1, 2)] if attacks else [],
        credential={"kind": "session-cookie", "amr": ["pwd"], "state": "valid"} if signed_in else None,
        visible=["for", "headers", "host", "method", "proto", "uri"],
        subject={"kind": "user", "id": user_id, "name": name} if signed_in else None,
        latency_us=400,
        policy_revision=revision,
    )
    values = row_of(record, "bench")
    return (values[0].hex, *values[1:])


_ASKED = ("challenge", "credential-missing", 401)


def figures() -> dict[str, Any]:
    """Return the speed of reading rows and of each draft, in CPU seconds."""
    began = time.process_time()
    parts = window.slices(datetime.now(UTC) - timedelta(days=2), datetime.now(UTC), _ALL)
    number, sample = 0, list[AccessRecord]()
    for piece in chain.from_iterable(map(window.pieces, parts)):
        number += len(piece)
        sample.append(piece[0])
    reading = number / (time.process_time() - began)
    makers = _makers()
    rows = []
    for name, make in makers.items():
        comparison = make()
        rows.append({"name": name, **_measured(comparison, parts, number, reading)})
        _check(name, comparison, sample)
    lost = list(makers.values())[-1]
    return {"read_a_second": round(reading), "rows_read": number, "drafts": rows, "processes": _processes(lost, parts)}


def _makers() -> dict[str, Callable[[], Comparison]]:
    """Return a factory of the comparison for each draft, by name; the last one has no change history."""
    drafts = _drafts()
    made: dict[str, Callable[[], Comparison]] = {
        name: partial(_comparison_of, partial(_policies, draft)) for name, draft in drafts.items()
    }
    for name, values in _SETTINGS.items():
        change = partial(system_settings.change, actor="bench", **values)
        made[name] = partial(_comparison_of, partial(policies_with, change, policy_files(settings.CONFIG)))
    forgotten = ChangeHistory(known_from=sys.maxsize, newest=sys.maxsize)
    first, draft = next(iter(drafts.items()))
    made[f"{first}, {MAX_REVISIONS} revisions later"] = partial(
        _comparison_of, partial(_policies, draft), history=forgotten
    )
    return made


def _drafts() -> dict[str, Proposal]:
    domain = AuthorizedDomain.objects.get(name="app0.example.com")
    user = User.objects.latest("id")
    rule = {"name": "bench", "access": "denied", "paths": [{"match": "prefix", "value": "/wiki"}]}
    return {
        "block one network": Draft("ip-black-list", Write.CREATE, None, {"ip": "192.0.1.0/24"}),
        "block a country": Draft("geo-block-rules", Write.CREATE, None, {"country_code": "NZ"}),
        "a WAF rule over URIs": Draft(
            "waf-rules", Write.CREATE, None, {"name": "bench", "pattern": "/calendar/4[0-9]*", "targets": ["uri"]}
        ),
        "a WAF rule over headers": Draft(
            "waf-rules", Write.CREATE, None, {"name": "bench", "pattern": "bench", "targets": ["headers"]}
        ),
        "shut the busiest host": Draft("authorized-domains", Write.UPDATE, domain.pk, {"access": "denied"}),
        "narrow one user": Draft("users", Write.UPDATE, user.pk, {"all_domains": False}),
        "an access rule of a path": Draft("access-rules", Write.CREATE, None, rule),
        "an access rule of a person": Draft("access-rules", Write.CREATE, None, {**rule, "users": [user.username]}),
        "block everybody": Draft("ip-black-list", Write.CREATE, None, {"ip": "128.0.0.0/1"}),
        "a document": WholeDocument.of(read(_document().encode())),
    }


def _document() -> str:
    """Return a document that replaces domains, blocked networks and access rules, and adds a WAF rule."""
    domains = [
        {"name": f"app{number}.example.com", "access": "denied" if number == 1 else "authenticated"}
        for number in range(50)
    ]
    rules = [{"name": "wiki", "access": "denied", "paths": [{"match": "prefix", "value": "/wiki"}]}]
    waf = [{"name": "bench", "pattern": "/calendar/4[0-9]*", "targets": ["uri"]}]
    blocked = [{"ip": "192.0.1.0/24"}]
    sections = {"domains": domains, "blocklist": blocked, "access_rules": rules, "waf_rules": waf}
    return json.dumps({"version": 1, **sections})


def _measured(comparison: Comparison, parts: list[Slice], number: int, reading: float) -> dict[str, Any]:
    """Compare in as many processes as a plan has; return its figures, and its seconds of the clock and of CPU."""
    began, cpu = time.monotonic(), _cpu_seconds()
    processes = workers.number_of_processes(len(parts))
    result = compare(comparison, parts, processes=processes, on_progress=_ignore).result()
    seconds, cpu = time.monotonic() - began, _cpu_seconds() - cpu
    rate = number / cpu
    return {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "rows_a_second": round(rate),
        "ratio": round(rate / reading, 3),
        "untouched": result["untouched"],
        "changed": result["changed"],
        "undecidable": result["undecidable"]["total"],
    }


def _processes(make: Callable[[], Comparison], parts: list[Slice]) -> list[dict[str, Any]]:
    """Return seconds and CPU seconds of one process and of two; exit if their results differ."""
    found, results = [], []
    for number in (1, 2):
        comparison = make()  # with empty caches
        began, cpu = time.monotonic(), _cpu_seconds()
        results.append(compare(comparison, parts, processes=number, on_progress=_ignore).result())
        seconds, cpu = time.monotonic() - began, _cpu_seconds() - cpu
        found.append({"processes": number, "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1)})
    if results[0] != results[1]:
        raise SystemExit("two processes have another result than one")
    return found


def _cpu_seconds() -> float:
    usages = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usages)


def _ignore(_: int) -> None:
    """Ignore progress."""


def _check(name: str, comparison: Comparison, sample: list[AccessRecord]) -> None:
    """Decide a sample without the short cut, too; exit if a verdict differs."""
    for record in sample:
        short, whole = comparison.of(record), comparison.decided_twice(record)
        if short != whole and (short is not None or whole is None or whole.missing is None):
            raise SystemExit(f"{name}: {record.decision_id} is {short}, and without the short cut {whole}")


def _policies(draft: Proposal) -> Policies:
    return trial.policies_of(draft, policy_files(settings.CONFIG))


def _comparison_of(make: Callable[[], Policies], *, history: ChangeHistory | None = None) -> Comparison:
    policies = make()
    while policies.before.waf.check() == WAITING:
        time.sleep(0.1)
    histories = policies.histories if history is None else (history, history)
    countries = Countries.of(settings.CONFIG)
    return Comparison(policies.before, policies.after, histories=histories, countries=countries, at=time.time())


if __name__ == "__main__":
    main()
