"""Cost of importing a list of a million entries: ``python -m bench.import_list [--entries N] [--write]``.

On SQLite and PostgreSQL, imports a list, then the list with 1 % changed entries, then the same again. Measures seconds
and peak memory of the command (publication included), the delay until a worker enforces the list, and its memory.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import psutil

from bench import report
from bench.servers import DATA_PLANE, data_plane
from bench.site import prepared_site
from tests.postgres import postgres

_BASE = Path(__file__).resolve().parent.parent
_ENTRIES = 1_000_000
_CHANGED_IN = 100
_REFUSED_WITHIN = 300.0
_MIB = 1024 * 1024
_FIRST, _LAST = int(IPv4Address("11.0.0.0")), int(IPv4Address("99.255.255.255"))  # public all over
_OURS = {"first": "203.0.113.7", "one in 100 changed": "203.0.113.8"}  # blocked only by the list


def addresses(entries: int, *, seed: int) -> list[int]:
    """Return this many different addresses in random order."""
    return random.Random(seed).sample(range(_FIRST, _LAST), entries)  # noqa: S311 - no secrets


def write_list(path: Path, numbers: list[int], mark: str) -> None:
    """Write a list of these addresses and a marker."""
    path.write_text("".join(f"{IPv4Address(number)}\n" for number in numbers) + f"{mark}\n")


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the measurements."""
    rows = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        urls = {
            "SQLite": f"sqlite:///{folder / 'lists.sqlite3'}",
            "PostgreSQL": stack.enter_context(postgres(options=[])),
        }
        for name, url in urls.items():
            rows += [{"database": name, **row} for row in _measured(folder / name, url, arguments.entries)]
    return {**report.circumstances(), "entries": arguments.entries, "rows": rows}


def _measured(folder: Path, url: str, entries: int) -> Iterator[dict[str, Any]]:
    folder.mkdir()
    site = prepared_site(folder / "home", DATABASE_URL=url)
    numbers = addresses(entries - 1, seed=1)  # plus the marker
    path = folder / "list"
    with _worker(site.environment) as ask:
        for what, mark in _OURS.items():
            write_list(path, numbers, mark)
            yield {"import": what, **_import(site.environment, path), **ask(mark)}
            changed = len(numbers) // _CHANGED_IN
            numbers[:changed] = range(_LAST, _LAST + changed)
        yield {"import": "the same again", **_import(site.environment, path)}


def _import(environment: dict[str, str], path: Path) -> dict[str, Any]:
    began = time.perf_counter()
    command = [sys.executable, "manage.py", "import_list", str(path), "--name", "bench"]
    process = subprocess.Popen(command, cwd=_BASE, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit("the import failed")
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mib": usage.ru_maxrss // 1024,
    }


@contextmanager
def _worker(environment: dict[str, str]) -> Iterator[Any]:
    """Run a data plane worker; yield a function that waits until it blocks a client and returns the delay."""
    with data_plane(DATA_PLANE, environment) as (port, pid):

        def ask(client: str) -> dict[str, Any]:
            began = time.perf_counter()
            while _status(port, client) != 403:
                if time.perf_counter() - began > _REFUSED_WITHIN:
                    raise SystemExit("the data plane does not refuse what was imported")
                time.sleep(0.02)
            seconds = round(time.perf_counter() - began, 2)
            return {"refused_after_seconds": seconds, "worker_mib": _memory(pid) // _MIB}

        yield ask


def _status(port: int, client: str) -> int:
    headers = {"X-Forwarded-For": client, "X-Forwarded-Host": "app7.example.com"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/wall/auth", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - our own server
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def _memory(pid: int) -> int:
    process = psutil.Process(pid)
    return int(max(each.memory_info().rss for each in [process, *process.children(recursive=True)]))


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    lines = [
        f"{result['entries']:,} entries, {report.machine(result)}.",
        "",
        "| Database | Import | Seconds | CPU seconds | Peak MiB | Refused after, seconds | Worker MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        after, worker = row.get("refused_after_seconds", "-"), row.get("worker_mib", "-")
        figures = (row["seconds"], row["cpu_seconds"], row["peak_mib"], after, worker)
        lines.append(f"| {row['database']} | {row['import']} | {' | '.join(map(str, figures))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=_ENTRIES)
    report.add_outputs(parser)
    chosen = parser.parse_args()
    measured = main(chosen)
    report.deliver("import_list", measured, as_text(measured), chosen)
