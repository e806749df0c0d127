"""Unit costs for the simulations of bench.fleet: ``python -m bench.units [--seconds N] [--write]``.

A worker without proxy: service times, capacity, and latencies of random arrivals at 60 % of it. A store: cost of rows,
policy changes and an idle host, and connections per process. A policy: bytes per network and user. Writes
bench/results/units.json.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg

from audit.spool import segments
from bench import report, sizes, traffic
from bench.cpu import cpu_seconds
from bench.load import send, send_each
from bench.open_loop import latencies, percentile
from bench.servers import DATA_PLANE, data_plane, plain_nginx, protecting_nginx, until_compiled
from bench.site import Site, installation_environment, prepared_site, run_child
from gatewall.install.ports import free_port
from gatewall.install.readiness import answers
from tests.postgres import postgres

_BASE = Path(__file__).resolve().parent.parent
_PARTS = 500
"""Percentiles of the service time."""
_SHARE = 0.6
_ROUNDS = 5
_RECORDS = 16_000
_MANY = 10_000
_CLIENTS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
_STORE = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
_DONE = "SELECT sum(xact_commit) FROM pg_stat_database"


def main(seconds: float) -> dict[str, Any]:
    """Return the measurements."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        url = stack.enter_context(postgres(options=[]))
        geo = traffic.geo_database(folder / "country.mmdb")
        site = prepared_site(folder / "home", people=5, GEOIP_DATABASE=str(geo), DATABASE_URL=url)
        result: dict[str, Any] = {**report.circumstances(), "worker": _worker(folder, site, seconds)}
        _say("the worker is measured")
        spool = folder / "spool"
        spooled = sum(path.stat().st_size for path in segments.segment_files(spool))
        rows = json.loads(run_child(site.environment, "-m", "bench.store_costs", str(spool)))
        shipped = rows["full"]["rows"] + rows["small"]["rows"]
        result["rows"] = {
            **rows,
            "spool_bytes": round(spooled / shipped),
            "postgresql_bytes": _a_row(sizes.of_postgres(url), shipped),
            "sqlite_bytes": _a_row(_sqlite(folder, spool, site), shipped),
        }
        _say("rows are measured")
        result["store"] = _idle(site, url, seconds)
        _say("the store is measured")
        result["policy"] = _policy(folder / "many")
    return result


def _say(what: str) -> None:
    print(what, file=sys.stderr)  # noqa: T201 - a command


def _worker(folder: Path, site: Site, seconds: float) -> dict[str, Any]:
    """Measure one worker without proxy; leaves the records of many visitors in ``spool``."""
    with ExitStack() as stack:
        port, pid = stack.enter_context(data_plane(DATA_PLANE, site.environment))
        until_compiled(port)
        send(port, site.subrequest, requests=2000)
        rounds = [_round(port, pid, site.subrequest, seconds, seed) for seed in range(_ROUNDS)]
        behind, _ = stack.enter_context(plain_nginx(folder / "site"))
        front, _ = stack.enter_context(protecting_nginx(folder / "nginx", port, behind, traffic.BELIEVE_CLIENT_HEADER))
        shutil.rmtree(folder / "home" / "spool")
        time.sleep(1.0)  # the worker starts a new file
        for part in range(4):
            send_each(front, traffic.requests(site.tokens, _RECORDS // 4, seed=part))
        (folder / "spool").mkdir()
        for path in segments.segment_files(folder / "home" / "spool"):
            shutil.copy2(path, folder / "spool")
    return _quietest(rounds)


def worker_alone(seconds: float) -> dict[str, Any]:
    """Return the figures of the worker only."""
    with tempfile.TemporaryDirectory() as name:
        site = prepared_site(Path(name) / "home")
        with data_plane(DATA_PLANE, site.environment) as (port, pid):
            until_compiled(port)
            send(port, site.subrequest, requests=2000)
            rounds = [_round(port, pid, site.subrequest, seconds, seed) for seed in range(_ROUNDS)]
    return {"worker": {**_quietest(rounds), "load": report.circumstances()["load"]}}


def _quietest(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the round with the least disturbance by other processes."""
    return min(rounds, key=lambda each: float(each["open"]["p99_ms"]))


def _round(port: int, pid: int, request: bytes, seconds: float, seed: int) -> dict[str, Any]:
    alone = _alone(port, request, seconds)
    began, cpu = time.perf_counter(), cpu_seconds(pid)
    sent = send(port, request, requests=4000).requests
    capacity, used = sent / (time.perf_counter() - began), (cpu_seconds(pid) - cpu) / sent
    rate, end = _SHARE * capacity, time.monotonic() + seconds
    by_chance = random.Random(seed)  # noqa: S311 - no secret
    took = latencies(port, [request], rate=rate, until=lambda: time.monotonic() > end, chance=by_chance)
    return {
        "service_us": [round(percentile(alone, (part + 0.5) / _PARTS) * 1e6) for part in range(_PARTS)],
        "capacity": round(capacity),
        "cpu_us": round(used * 1e6),
        "open": {"rate": round(rate), "share": _SHARE, "n": len(took), **_percentiles(took)},
    }


def _alone(port: int, request: bytes, seconds: float) -> list[float]:
    """Return the latencies of requests sent one at a time."""
    end = time.monotonic() + seconds / 2
    return latencies(port, [request], rate=0, until=lambda: time.monotonic() > end)


def _percentiles(seconds: list[float]) -> dict[str, float]:
    shares = {"p50_ms": 0.5, "p99_ms": 0.99, "p999_ms": 0.999}
    return {name: round(percentile(seconds, share) * 1000, 2) for name, share in shares.items()}


def _a_row(taken: sizes.Sizes, rows: int) -> dict[str, int]:
    return {part: round(size / rows) for part, size in taken.items()}


def _sqlite(folder: Path, spool: Path, site: Site) -> sizes.Sizes:
    there = {**site.environment, "DATABASE_URL": f"sqlite:///{folder / 'log.sqlite3'}"}
    run_child(there, "manage.py", "migrate", "--verbosity=0")
    shutil.copytree(spool, folder / "copy")
    run_child(there, "-m", "bench.ship_once", str(folder / "copy"))
    return sizes.of_sqlite(folder / "log.sqlite3")


def _idle(site: Site, url: str, seconds: float) -> dict[str, Any]:
    """Return the store cost of an idle host, and the connections of each process."""
    shutil.rmtree(Path(site.environment["GATEWALL_HOME"]) / "spool")
    control = free_port()
    environment = {**site.environment, "GATEWALL_PORT": str(control), "GATEWALL_WORKERS": "2"}
    plane = [sys.executable, "manage.py", "control_plane"]
    with psycopg.connect(url, autocommit=True) as store, _process(environment, [sys.executable, "manage.py", "agent"]):
        time.sleep(8.0)  # the first rounds do housekeeping
        server = psutil.Process(_one(store, _STORE)).parent()
        before, busy = _one(store, _DONE), _nanoseconds(server)
        time.sleep(2 * seconds)
        found = {
            "idle_transactions": round((_one(store, _DONE) - before) / (2 * seconds), 1),
            "idle_store_ms": round((_nanoseconds(server) - busy) / 1e6 / (2 * seconds), 2),
            "agent_connections": _one(store, _CLIENTS),
        }
        with _process(environment, plane):
            while not answers(f"http://127.0.0.1:{control}/wall/health/ready"):
                time.sleep(0.2)
            _crowd(control)
            found["control_plane_connections"] = _one(store, _CLIENTS) - found["agent_connections"]
    return {**found, "workers": 2, "threads": 8}


def _crowd(port: int) -> None:
    """Make every thread of the control plane query the database at least once."""
    page = f"http://127.0.0.1:{port}/wall/health/ready"

    def ask() -> None:
        for _ in range(20):
            with urllib.request.urlopen(page) as answer:
                answer.read()

    threads = [threading.Thread(target=ask) for _ in range(64)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


@contextmanager
def _process(environment: dict[str, str], command: list[str]) -> Iterator[None]:
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=_BASE, env=environment, stdout=nowhere, stderr=nowhere) as process:  # noqa: S603
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def _one(store: "psycopg.Connection[Any]", question: Any) -> int:
    row = store.execute(question).fetchone()
    return int(row[0]) if row else 0


def _nanoseconds(server: psutil.Process) -> int:
    """Return the CPU time of PostgreSQL's running processes."""
    pids = [server.pid, *(child.pid for child in server.children(recursive=True))]
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids)


def _policy(home: Path) -> dict[str, float]:
    """Return the bytes of published policy per network, user and token."""
    prepared_site(home)
    environment = installation_environment(home)
    before = _segment_bytes(home)
    run_child(environment, "-m", "bench.filled", "--networks", str(_MANY), "--users", str(_MANY))
    after = _segment_bytes(home)
    kinds = {"network": "blocked-networks/import:bench", "user": "users", "git_token": "git-tokens"}
    grown = {
        kind: sum(size - before.get(each, 0) for each, size in after.items() if each.startswith(name))
        for kind, name in kinds.items()
    }
    return {kind: round(size / _MANY, 1) for kind, size in grown.items()}


def _segment_bytes(home: Path) -> dict[str, int]:
    """Return the bytes of each published segment, from the signed manifest."""
    manifest = json.loads((home / "policy" / "current").read_text().split("\n", 1)[1])
    return {name: size for name, (_, _, size) in manifest["segments"].items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--write", action="store_true", help="write bench/results/units.json")
    parser.add_argument("--worker", action="store_true", help="measure the worker alone; the rest stays what it was")
    given = parser.parse_args()
    there = _BASE / "bench" / "results" / "units.json"
    measured = {**json.loads(there.read_text()), **worker_alone(given.seconds)} if given.worker else main(given.seconds)
    text = json.dumps(measured, indent=2) + "\n"
    print(text)  # noqa: T201 - a command
    if given.write:
        there.write_text(text)
