"""Time API requests about the access log of DATABASE_URL: a child of bench.log_pages.

   python -m bench.ask_log --calls 30

Uses Django's test client with an admin's token: no server or network.
"""

import argparse
import json
import statistics
import time
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402 - needs Django
from django.db import connection  # noqa: E402 - needs Django
from django.test import Client  # noqa: E402 - needs Django
from django.test.utils import setup_test_environment  # noqa: E402 - needs Django
from django.utils import timezone  # noqa: E402 - needs Django

from accounts import services, tokens  # noqa: E402 - needs Django
from accounts.sign_in import login  # noqa: E402 - needs Django
from accounts.visitor import Visitor  # noqa: E402 - needs Django
from audit.querying.keyset import Cursor  # noqa: E402 - needs Django
from audit.storage import retention  # noqa: E402 - needs Django
from gatewall.policy import system_settings  # noqa: E402 - needs Django

_FIGURES_MS, _PAGE_MS = 50, 100
_BEHIND = timedelta(days=15)
_CALLS_A_MINUTE = 1_000_000
# As filled by bench.fill_log: 1 is the most frequent value, 999 and these others have a few rows in total.
_FILTERS = {
    "no filter": {},
    "client, frequent": {"client_ip": "11.0.0.1"},
    "client, rare": {"client_ip": "198.51.100.7"},
    "network, half of all": {"client_ip": "11.0.0.0/24"},
    "network, one in fifty": {"client_ip": "11.0.64.0/18"},
    "network, rare": {"client_ip": "198.51.100.0/24"},
    "host, frequent": {"host": "app1.example.com"},
    "host, rare": {"host": "rare.example.com"},
    "subject, frequent": {"subject_id": "1"},
    "subject, rare": {"subject_id": "999"},
    "reason, frequent": {"reason": "session-valid"},
    "reason, one in twenty": {"reason": "waf-rule"},
    "reason, rare": {"reason": "cannot-decide"},
    "rule, frequent": {"rule_id": "1"},
    "rule, rare": {"rule_id": "999"},
    "client and reason": {"client_ip": "11.0.0.1", "reason": "waf-rule"},
    "host and rule": {"host": "app1.example.com", "rule_id": "1"},
    "host without a reason": {"host": "app1.example.com", "exclude_reason": "session-valid"},
}
_WILDCARDS = {
    "path with *, frequent": {"path": "/wiki/*"},
    "path with *, nowhere: the whole budget": {"path": "*/nowhere/*"},
}


def main() -> None:
    """Time all requests, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=30)
    options = parser.parse_args()
    setup_test_environment()
    system_settings.change(actor="bench", api_requests_per_minute=_CALLS_A_MINUTE)
    asker = _Asker(options.calls)
    rows = list(asker.answers())
    _forget_statistics()
    bare = {row["name"]: row for row in asker.answers()}
    for row in rows:
        row["without_statistics_ms"] = bare[row["name"]]["median_ms"]
    result = {"calls": options.calls, "rows": rows, "decision_ms": asker.decision(), "retention": _retention()}
    print(json.dumps(result))  # noqa: T201 - a command


class _Asker:
    def __init__(self, calls: int) -> None:
        self._calls = calls
        admin = services.create_user(actor="bench", username=f"b-{uuid.uuid4()}", password="bench bench", is_admin=True)
        visitor, now = Visitor("192.0.2.7", "bench"), timezone.now()
        token = login.start_session(admin, audiences=(tokens.GATE, tokens.API), amr=("pwd",), visitor=visitor, at=now)
        self._client = Client(headers={"Service-Authorization": token.text})
        self._end = datetime.now(UTC)

    def answers(self) -> Iterable[dict[str, Any]]:
        """Yield the times of every request."""
        yield self._figures("dashboard", "/dashboard/stats")
        yield self._figures("statistics, the usual 24 hours", "/access-logs/stats")
        for words, days in (("24 hours from any second", 1), ("7 days", 7), ("30 days", 30)):
            end = self._end - timedelta(hours=5, minutes=17, seconds=3)
            start = max(end - timedelta(days=days), self._end - timedelta(days=30))
            window = {"start_time": start.isoformat(), "end_time": end.isoformat()}
            yield self._figures(f"statistics, {words}", "/access-logs/stats", window)
        deep = {"cursor": str(Cursor(self._end - _BEHIND, uuid.UUID(int=0)))}
        for name, parameters in _FILTERS.items():
            yield self._page(f"page: {name}", parameters, _PAGE_MS)
            yield self._page(f"page: {name}, from 15 days ago", {**parameters, **deep}, _PAGE_MS)
        for name, parameters in _WILDCARDS.items():
            yield self._page(f"page: {name}", parameters, None)

    def decision(self) -> float:
        """Return the time of a lookup by decision id."""
        deep = {"cursor": str(Cursor(self._end - _BEHIND, uuid.UUID(int=0)))}
        some = self._get("/access-logs", deep)["results"] or self._get("/access-logs", {})["results"]
        times, _ = self._timed(f"/access-logs/{some[0]['decision_id']}", {})
        return round(statistics.median(times), 1)

    def _figures(self, name: str, path: str, parameters: Mapping[str, str] | None = None) -> dict[str, Any]:
        times, answer = self._timed(path, parameters or {})
        counted = answer.get("requests", answer)
        return _row(name, times, counted["total"], _FIGURES_MS)

    def _page(self, name: str, parameters: Mapping[str, str], bound: int | None) -> dict[str, Any]:
        times, answer = self._timed("/access-logs", parameters)
        return _row(name, times, len(answer["results"]), bound)

    def _timed(self, path: str, parameters: Mapping[str, str]) -> tuple[list[float], Any]:
        """Return the milliseconds of all calls but the first, and the response."""
        times, answer = [], self._get(path, parameters)
        for _ in range(self._calls):
            began = time.perf_counter()
            answer = self._get(path, parameters)
            times.append((time.perf_counter() - began) * 1000)
        return times, answer

    def _get(self, path: str, parameters: Mapping[str, str]) -> Any:
        response = self._client.get(f"{settings.ROOT_PATH}{path}", parameters)
        if response.status_code != 200:
            raise SystemExit(f"{path} {parameters}: {response.status_code} {response.content[:500]!r}")
        return response.json()


def _row(name: str, times: list[float], found: int, bound: int | None) -> dict[str, Any]:
    ordered = sorted(times)
    return {
        "name": name,
        "found": found,
        "least_ms": round(ordered[0], 1),
        "median_ms": round(statistics.median(times), 1),
        "p95_ms": round(ordered[max(0, -(-len(ordered) * 95 // 100) - 1)], 1),
        "bound_ms": bound,
    }


def _forget_statistics() -> None:
    """Delete the planner's statistics, as before the first ANALYZE."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM pg_statistic WHERE starelid::regclass::text LIKE 'audit\\_%%'", [])
        cursor.execute(
            "SELECT pg_clear_relation_stats('public', relname::text) FROM pg_class "
            "WHERE relname LIKE 'audit\\_%%' AND relkind IN ('r', 'p', 'i')",
            [],
        )


def _retention() -> dict[str, float]:
    """Delete rows older than 28 days; return the time and what was deleted."""
    began = time.perf_counter()
    pruned = retention.prune(timezone.now(), days=28)
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "partitions": pruned.partitions,
        "single_rows": pruned.rows,
    }


if __name__ == "__main__":
    main()
