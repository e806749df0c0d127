"""CPU time of the agent in live operation: ``python -m bench.agent [--rounds N] [--seconds N] [--write]``.

SQLite, one data plane worker with every feature on, and the agent as a process of its own. Visitors load pages at fixed
rates, then an administrator bans addresses, then nothing happens. Every answer must become one row. A machine that
cannot answer as many requests a second answers fewer: the table says how many.
"""

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from bench import report, traffic, visits
from bench.cpu import scheduled_alone
from bench.open_loop import latencies
from bench.servers import DATA_PLANE, data_plane
from bench.site import Site, prepared_site

_BASE = Path(__file__).resolve().parent.parent
_RATES = (50, 500, 2000)
_EDITS, _BETWEEN_SECONDS = 20, 0.7
_WARM_UP_SECONDS, _SETTLE_SECONDS, _LONGEST_SECONDS = 5.0, 10.0, 120.0
_EDIT, _IDLE = "one edit of a policy with 50 domains and 199 networks", "nothing"


class Bench:
    """An installation, its worker and its agent."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        geo = traffic.geo_database(folder / "country.mmdb")
        self._site = prepared_site(folder / "home", GEOIP_DATABASE=str(geo))
        self._port, _ = stack.enter_context(data_plane(DATA_PLANE, self._site.environment))
        self._agent = stack.enter_context(_agent(self._site))
        self._rows = sqlite3.connect(folder / "home" / "gatewall.sqlite3", isolation_level=None)
        stack.callback(self._rows.close)
        self._bans = stack.enter_context(_editor(self._site))
        self._banned = 0
        self._requests = visits.page_loads(visits.subrequest("/wall/auth"), f"service.token={self._site.tokens[0]}")
        self._answers(_RATES[0], _WARM_UP_SECONDS)
        self._edits(2)
        time.sleep(_SETTLE_SECONDS)

    def round(self, seconds: float) -> dict[str, dict[str, float]]:
        """Return the figures of each row."""
        found = {_name_of(rate): self._answers(rate, seconds) for rate in _RATES}
        found[_EDIT] = {"cost": self._edits(_EDITS) * 1000}
        time.sleep(_SETTLE_SECONDS)
        began, cpu = time.monotonic(), self._cpu()
        time.sleep(seconds)
        found[_IDLE] = {"cost": 100 * (self._cpu() - cpu) / (time.monotonic() - began)}
        return found

    def _answers(self, rate: int, seconds: float) -> dict[str, float]:
        """Return microseconds of the agent for an answer, and answers a second."""
        asked = list(islice(self._requests, int(rate * seconds)))
        before, cpu, began = self._stored(), self._cpu(), time.monotonic()
        answered = len(latencies(self._port, asked, rate=rate, until=lambda: time.monotonic() - began > seconds))
        took = time.monotonic() - began
        deadline = time.monotonic() + _LONGEST_SECONDS
        while self._stored() - before < answered and time.monotonic() < deadline:
            time.sleep(0.2)
        time.sleep(1)  # another row than these would be there by now
        if self._stored() - before != answered:
            raise SystemExit(f"{self._stored() - before} rows of {answered} answers")
        return {"cost": (self._cpu() - cpu) / answered * 1e6, "rate": answered / took}

    def _edits(self, number: int) -> float:
        """Return seconds of the agent for an edit."""
        cpu = self._cpu()
        for _ in range(number):
            self._banned += 1
            self._bans.send(f"ban 100.100.{self._banned // 250}.{self._banned % 250 + 1}")
            time.sleep(_BETWEEN_SECONDS)
        return (self._cpu() - cpu) / number

    def _stored(self) -> int:
        ((number,),) = self._rows.execute("SELECT count(*) FROM audit_accesslog").fetchall()
        return int(number)

    def _cpu(self) -> float:
        return scheduled_alone(self._agent)[0]


class _Editor:
    """A process that changes the policy on command (bench.edits)."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def send(self, order: str) -> None:
        """Have it execute an order; return when it is done."""
        if self._process.stdin is None or self._process.stdout is None:
            raise SystemExit("the editor has no pipes")
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()
        if not self._process.stdout.readline():
            raise SystemExit("the editor has ended")


@contextmanager
def _editor(site: Site) -> Iterator[_Editor]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.edits"],
        cwd=_BASE,
        env=site.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        if process.stdout is not None:
            process.stdout.readline()  # ready
        yield _Editor(process)
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def _agent(site: Site) -> Iterator[int]:
    """Run the agent; yield its process id once it leads."""
    process = subprocess.Popen([sys.executable, "manage.py", "agent"], cwd=_BASE, env=site.environment)
    lock = Path(site.environment["GATEWALL_HOME"]) / "run" / "agent.wake"
    try:
        deadline = time.monotonic() + _LONGEST_SECONDS
        while not lock.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the agent does not lead (exit code {process.poll()})")
            time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Measure, print, and with --write update docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15)
    report.add_outputs(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bench = Bench(Path(folder), stack)
        rounds = [bench.round(options.seconds) for _ in range(options.rounds)]
    result = summary(rounds, options.seconds)
    report.deliver("agent", result, as_text(result), options)


def summary(rounds: list[dict[str, dict[str, float]]], seconds: float) -> dict[str, Any]:
    """Return median and spread of each row's cost, and of the answers a second."""
    rows = [
        {
            "name": name,
            **_wanted(name),
            **{part: report.spread([each[name][part] for each in rounds]) for part in rounds[0][name]},
        }
        for name in rounds[0]
    ]
    return {**report.circumstances(), "rounds": len(rounds), "seconds": seconds, "rows": rows}


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    lines = [
        f"{result['rounds']} interleaved rounds of {result['seconds']:.0f} s a row, {report.machine(result)}.",
        "",
        "| Work | Answers a second | CPU of the agent (least to most) | Wanted |",
        "|---|---|---|---|",
    ]
    for row in result["rows"]:
        unit, wanted, digits = row["unit"], row["wanted"], row["digits"]
        cost, rate = row["cost"], row.get("rate")
        answered = f"{rate['median']:.0f}" if rate else "-"
        spread = f"{cost['median']:.{digits}f} ({cost['least']:.{digits}f} to {cost['most']:.{digits}f})"
        lines.append(f"| {row['name']} | {answered} | {spread} {unit} | {wanted} |")
    return "\n".join(lines)


def _name_of(rate: int) -> str:
    return f"{rate:,} answers a second"


def _wanted(name: str) -> dict[str, Any]:
    """Return unit, target and digits of a row's cost."""
    if name == _EDIT:
        return {"unit": "ms an edit", "wanted": 10, "digits": 1}
    if name == _IDLE:
        return {"unit": "% of a core", "wanted": 0.3, "digits": 2}
    asked = next(rate for rate in _RATES if _name_of(rate) == name)
    return {"unit": "us an answer", "wanted": 100, "digits": 0, "asked": asked}


if __name__ == "__main__":
    os.umask(0o077)
    main()
