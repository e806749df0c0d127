"""Time pages of the console about the access log of DATABASE_URL: a child of bench.console_pages.

   python -m bench.ask_console --calls 30

Uses Django's test client with an admin's session: no server or network. The CPU time is that of this process and of the
process of PostgreSQL that answers it: unlike the time that passes, it does not grow with the load of the machine.
"""

import argparse
import json
import re
import statistics
import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import django
import psutil

django.setup()

from django.conf import settings  # noqa: E402 - needs Django
from django.db import connection  # noqa: E402 - needs Django
from django.test import Client  # noqa: E402 - needs Django
from django.test.utils import override_settings  # noqa: E402 - needs Django
from django.utils import timezone  # noqa: E402 - needs Django

from accounts import admin_session, services  # noqa: E402 - needs Django
from accounts.visitor import Visitor  # noqa: E402 - needs Django

_LINKS, _ENTRIES = r'<a href="[^"]*/log/', r'<tbody class="entry'
_WINDOWS = {"1h": "1 hour", "24h": "24 hours", "7d": "7 days", "30d": "30 days"}
# As filled by bench.fill_log: 1 is the most frequent value, 999 and these others have a few rows in total.
_LOGS: dict[str, dict[str, str]] = {
    "no filter": {},
    "refused": {"outcome": "deny"},
    "client, frequent": {"client_ip": "11.0.0.1"},
    "client, rare": {"client_ip": "198.51.100.7"},
    "host, frequent": {"host": "app1.example.com"},
    "reason, one in twenty": {"reason": "waf-rule"},
    "rule, rare": {"rule_id": "999"},
    "client and reason": {"client_ip": "11.0.0.1", "reason": "waf-rule"},
}


def main() -> None:
    """Time the pages, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=30)
    options = parser.parse_args()
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        rows = list(_Reader(options.calls).pages())
    print(json.dumps({"calls": options.calls, "rows": rows}))  # noqa: T201 - a command


class _Reader:
    def __init__(self, calls: int) -> None:
        self._calls = calls
        admin = services.create_user(actor="bench", username=f"b-{uuid.uuid4()}", password="bench bench", is_admin=True)
        self._client = Client()
        self._client.force_login(admin)
        session, visitor = self._client.session, Visitor("192.0.2.7", "bench")
        admin_session.begin(session, admin, amr=("pwd",), visitor=visitor, at=timezone.now())
        session.save()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            ((pid,),) = cursor.fetchall()
        self._backend = psutil.Process(pid)

    def pages(self) -> Iterator[dict[str, Any]]:
        """Yield the times of the dashboard, and of the first page of the live log with its count and histogram."""
        for window, words in _WINDOWS.items():
            yield self._page(f"dashboard, {words}", "/admin/", {"window": window}, _LINKS)
        for words, filters in _LOGS.items():
            yield self._page(f"live log: {words}", "/admin/log/", filters, _ENTRIES)
        month = {"start_time": f"{datetime.now(UTC) - timedelta(days=30):%Y-%m-%dT%H:%M:%SZ}"}
        yield self._page("live log of 30 days: no filter", "/admin/log/", month, _ENTRIES)
        yield self._page("live log of 30 days: refused", "/admin/log/", {**month, "outcome": "deny"}, _ENTRIES)

    def _page(self, name: str, path: str, parameters: Mapping[str, str], what: str) -> dict[str, Any]:
        """Return the times of all calls but the first, and how many of these elements the page has."""
        times, costs, page = [], [], ""
        for _ in range(self._calls + 1):
            began, cost = time.perf_counter(), self._cpu_seconds()
            response = self._client.get(f"{settings.ROOT_PATH}{path}", parameters)
            costs.append((self._cpu_seconds() - cost) * 1000)
            times.append((time.perf_counter() - began) * 1000)
            page = response.content.decode()
            if response.status_code != 200:
                raise SystemExit(f"{path} {parameters}: {response.status_code} {page[:500]!r}")
        return {
            "name": name,
            "found": len(re.findall(what, page)),
            "cpu_ms": round(statistics.mean(costs[1:]), 1),  # the backend's time is in steps of 10 ms
            "least_ms": round(min(times[1:]), 1),
            "median_ms": round(statistics.median(times[1:]), 1),
        }

    def _cpu_seconds(self) -> float:
        spent = self._backend.cpu_times()
        return time.process_time() + float(spent.user + spent.system)


if __name__ == "__main__":
    main()
