"""Speed of shipping relative to answering: ``python -m bench.shipping [--rounds N] [--requests N] [--write]``.

Each round has a data plane worker with all features answer behind nginx, then ships its spool to SQLite and PostgreSQL.
Quote the ratio of the rates within a round.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.spool import segments
from bench import report, sizes, traffic
from bench.cpu import cpu_seconds
from bench.load import send_each
from bench.servers import DATA_PLANE, data_plane, plain_nginx, protecting_nginx
from bench.site import Site, prepared_site, run_child
from tests.postgres import postgres

_PEOPLE = 20
_WARM_UP = 400
_ANSWERING = "answering"


@dataclass(frozen=True, slots=True)
class Place:
    """A target of shipping: a database, by the environment of the shipping process."""

    name: str
    url: str
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class Round:
    """Rate and CPU microseconds of answering and of shipping to each database; bytes per record in the spool."""

    rates: dict[str, float]
    cpu_us: dict[str, float]
    spool_bytes: float


class Bench:
    """An installation, one worker behind nginx, and the target databases."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        geo = traffic.geo_database(folder / "country.mmdb")
        self._site = prepared_site(folder / "home", people=_PEOPLE, GEOIP_DATABASE=str(geo))
        self._spool = folder / "home" / "spool"
        behind, _ = stack.enter_context(plain_nginx(folder / "site"))
        gate, self._worker = stack.enter_context(data_plane(DATA_PLANE, self._site.environment))
        self._port, _ = stack.enter_context(
            protecting_nginx(folder / "nginx", gate, behind, traffic.BELIEVE_CLIENT_HEADER)
        )
        self.places = [
            _place("SQLite", f"sqlite:///{folder / 'log.sqlite3'}", self._site),
            # With durable commits.
            _place("PostgreSQL", stack.enter_context(postgres(options=[])), self._site),
        ]
        self._answer(_WARM_UP, seed=0)
        for place in self.places:
            self._ship(place)
        self._forget_shipped()

    def round(self, requests: int, *, seed: int) -> Round:
        """Answer this many requests and ship their records to all targets."""
        rates, cpu_us = {}, {}
        before = self._spool_bytes()
        rates[_ANSWERING], cpu_us[_ANSWERING] = self._answer(requests, seed=seed)
        written = self._spool_bytes() - before
        for place in self.places:
            done = self._ship(place)
            if done["records"] != requests:
                raise SystemExit(f"{place.name}: {done['records']} records of {requests} requests")
            rates[place.name] = requests / done["seconds"]
            cpu_us[place.name] = done["cpu"] / requests * 1_000_000
        self._forget_shipped()
        return Round(rates, cpu_us, written / requests)

    def _answer(self, number: int, *, seed: int) -> tuple[float, float]:
        """Return requests per second, and the worker's CPU microseconds per request."""
        asked = traffic.requests(self._site.tokens, number, seed=seed)
        began, cpu = time.perf_counter(), cpu_seconds(self._worker)
        sent = send_each(self._port, asked)
        seconds, used = time.perf_counter() - began, cpu_seconds(self._worker) - cpu
        if not {200, 302, 403} >= set(sent.statuses) or sent.requests != number:
            raise SystemExit(f"the gate answered {sent.statuses}")
        return number / seconds, used / number * 1_000_000

    def _ship(self, place: Place) -> Any:
        """Ship a copy of the spool, so that the next target gets the same records."""
        copy = self._folder / f"spool-{place.name}"
        copy.mkdir(exist_ok=True)
        for path in segments.segment_files(self._spool):
            shutil.copy2(path, copy)
        return json.loads(run_child(place.environment, "-m", "bench.ship_once", str(copy)))

    def _spool_bytes(self) -> int:
        return sum(path.stat().st_size for path in segments.segment_files(self._spool))

    def _forget_shipped(self) -> None:
        for path in segments.segment_files(self._spool):
            if not segments.is_being_written(path):
                path.unlink()


def main() -> None:
    """Measure, print, and with --write update docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--requests", type=int, default=8000)
    report.add_outputs(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        bench = Bench(Path(name), stack)
        rounds = [bench.round(options.requests, seed=number + 1) for number in range(options.rounds)]
        taken = {
            "SQLite": sizes.of_sqlite(Path(name) / "log.sqlite3"),
            "PostgreSQL": sizes.of_postgres(bench.places[1].url),
        }
    result = summary(rounds, options.requests, taken)
    report.deliver("shipping", result, as_text(result), options)


def summary(rounds: list[Round], requests: int, taken: dict[str, sizes.Sizes]) -> dict[str, Any]:
    """Return rates, CPU and ratios of these rounds, and bytes per record."""
    records = len(rounds) * requests + _WARM_UP
    places = []
    for name in rounds[0].rates:
        row: dict[str, Any] = {
            "name": name,
            "per_second": report.spread([each.rates[name] for each in rounds]),
            "cpu_us": report.spread([each.cpu_us[name] for each in rounds]),
        }
        if name != _ANSWERING:
            row["ratio"] = report.spread([each.rates[name] / each.rates[_ANSWERING] for each in rounds])
            row["bytes"] = {part: round(size / records) for part, size in taken[name].items()}
        places.append(row)
    spooled = round(statistics.median(each.spool_bytes for each in rounds))
    return {
        **report.circumstances(),
        "rounds": len(rounds),
        "requests": requests,
        "spool_bytes": spooled,
        "rows": places,
    }


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    head = (
        f"{result['rounds']} interleaved rounds of {result['requests']} requests, {report.machine(result)}. "
        f"A record takes {result['spool_bytes']} bytes in the spool."
    )
    columns = "| A second (least to most) | CPU us | Rate of answering (least to most) | Bytes: row, indexes, counts |"
    lines = [head, "", f"| {columns}", "|---|---|---|---|---|"]
    for row in result["rows"]:
        rate, name = row["per_second"], row["name"]
        shown = f"{rate['median']:.0f} ({rate['least']:.0f} to {rate['most']:.0f}) | {row['cpu_us']['median']:.0f}"
        if name == _ANSWERING:
            lines.append(f"| {name} behind nginx | {shown} | limit | |")
            continue
        ratio, taken = row["ratio"], row["bytes"]
        lines.append(
            f"| shipping to {name} | {shown} | {ratio['median']:.1f} ({ratio['least']:.1f} to {ratio['most']:.1f}) "
            f"| {taken['rows']}, {taken['indexes']}, {taken['counts']} |"
        )
    return "\n".join(lines)


def _place(name: str, url: str, site: Site) -> Place:
    environment = {**site.environment, "DATABASE_URL": url}
    run_child(environment, "manage.py", "migrate", "--verbosity=0")
    return Place(name, url, environment)


if __name__ == "__main__":
    main()
