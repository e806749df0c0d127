"""Gatewall beside other gateways: ``python -m bench.peers [--rounds N] [--requests N] [--binaries DIR] [--write]``.

Server CPU microseconds per answer (user and system), in interleaved rounds, one process each on one core. Peers are
built by Go from the module proxy at the versions named in ``bench/peer_servers.py``, or taken from DIR if they are
there; the table says which were left out, and why.
"""

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from bench import peer_servers, report, traffic, visits
from bench.cpu import scheduled
from bench.load import send_each, status
from bench.peer_servers import CORAZA, OAUTH2_PROXY, VOUCH, NotBuiltError
from bench.servers import DATA_PLANE, asking_nginx, data_plane, plain_nginx, until_compiled
from bench.site import prepared_site, run_child

_WARM_UP = 500
_SIZE = ("--networks", "100000", "--users", "1000")
_YES, _NO = {200, 202}, 401
_BARE = "bare application"
_WITHOUT_SESSIONS = {_BARE, CORAZA.name}
_LIMITS = {
    "Gatewall, page load": f"{VOUCH.name}, page load",
    "Gatewall, API client": f"{OAUTH2_PROXY.name}, API client",
    "Gatewall, crowd": f"{OAUTH2_PROXY.name}, crowd",
    "behind nginx: Gatewall, page load": f"behind nginx: {VOUCH.name}, page load",
}
_NGINX = "nginx return 200"


@dataclass(frozen=True, slots=True)
class Asked:
    """A row: its name, the port of the server, the processes whose CPU time counts, and the requests."""

    name: str
    port: int
    pids: tuple[int, ...]
    requests: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Product:
    """A running product: port, process, path, and how many sessions it can hand out."""

    name: str
    port: int
    pid: int
    path: str
    sessions: Callable[[int], list[str]]


def main() -> None:
    """Measure, print, and with --write update docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--binaries", type=Path, help="folder of the peers' binaries; those that are missing are built")
    report.add_outputs(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        left_out = dict(peer_servers.LEFT_OUT)
        products = _products(Path(folder), stack, options, left_out)
        asked = _asked(Path(folder), stack, products, options.rounds * options.requests + _WARM_UP)
        for each in asked:
            _cost(each, _WARM_UP)
        rounds = [{each.name: _cost(each, options.requests) for each in asked} for _ in range(options.rounds)]
    result = summary(rounds, options.requests, left_out)
    report.deliver("peers", result, as_text(result), options)


def summary(rounds: list[dict[str, float]], requests: int, left_out: dict[str, str]) -> dict[str, Any]:
    """Return median and spread of each row's cost, of its multiple of nginx's, and of its multiple of its limit."""
    rows = []
    for name in rounds[0]:
        row: dict[str, Any] = {"name": name, "cpu_us": report.spread([each[name] for each in rounds])}
        row["times_nginx"] = report.spread([each[name] / each[_NGINX] for each in rounds])
        limit = _LIMITS.get(name)
        if limit in rounds[0]:
            row |= {"limit": limit, "times_limit": report.spread([each[name] / each[limit] for each in rounds])}
        rows.append(row)
    versions = {each.name: each.version for each in peer_servers.PEERS if each.name not in left_out}
    today = datetime.now(UTC).date().isoformat()
    sizes = {"rounds": len(rounds), "requests": requests, "date": today}
    return {**report.circumstances(), **sizes, "versions": versions, "left_out": left_out, "rows": rows}


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    machine = report.machine(result)
    lines = [
        f"{result['date']}: {result['rounds']} interleaved rounds of {result['requests']} requests, {machine}.",
        f"Versions: {versions}.",
        "",
        "| Asked | CPU us an answer (least to most) | Times nginx `return 200` | Times its limit (least to most) |",
        "|---|---|---|---|",
    ]
    for row in result["rows"]:
        cost, times = row["cpu_us"], row.get("times_limit")
        of_limit = f"{_span(times, '.2f')} of {row['limit']}" if times else "-"
        lines.append(f"| {row['name']} | {_span(cost, '.0f')} | {row['times_nginx']['median']:.1f} | {of_limit} |")
    lines += ["", *(f"Left out: {name} ({why})." for name, why in result["left_out"].items())]
    return "\n".join(lines)


def _span(values: dict[str, float], form: str) -> str:
    return f"{values['median']:{form}} ({values['least']:{form}} to {values['most']:{form}})"


def _cost(asked: Asked, requests: int) -> float:
    """Return the CPU microseconds of an answer."""
    chosen = list(islice(asked.requests, requests))
    before = sum(scheduled(pid)[0] for pid in asked.pids)
    sent = send_each(asked.port, chosen)
    used = sum(scheduled(pid)[0] for pid in asked.pids) - before
    if not set(sent.statuses) <= _YES:
        raise SystemExit(f"{asked.name} answered {sent.statuses}")
    return used / sent.requests * 1_000_000


def _products(folder: Path, stack: ExitStack, options: argparse.Namespace, left_out: dict[str, str]) -> list[Product]:
    """Start all products, and record in ``left_out`` those that cannot be built."""
    geo = str(traffic.geo_database(folder / "country.mmdb"))
    found = []
    for name, waf in (("Gatewall", "block"), ("Gatewall, WAF off", "off")):
        site = prepared_site(folder / name.replace(" ", "-"), GEOIP_DATABASE=geo)
        run_child(site.environment, "-m", "bench.filled", *_SIZE, "--waf", waf)
        port, pid = stack.enter_context(data_plane(DATA_PLANE, site.environment))
        if waf == "block":
            until_compiled(port)

        def sessions(number: int, environment: dict[str, str] = site.environment) -> list[str]:
            tokens = run_child(environment, "-m", "bench.filled", "--again", "--sessions", str(number)).split()
            return [f"service.token={token}" for token in tokens]

        found.append(Product(name, port, pid, "/wall/auth", sessions))
    port, pid = stack.enter_context(data_plane("bench.bare_app:application()", site.environment))
    found.append(Product(_BARE, port, pid, "/wall/auth", lambda number: ["service.token=x"] * number))
    for peer in peer_servers.PEERS:
        try:
            binary = peer_servers.build(peer, options.binaries or folder / "binaries")
        except NotBuiltError as error:
            left_out[peer.name] = str(error)
            continue
        port, pid = stack.enter_context(peer_servers.serve(peer, binary, folder / peer.name))
        found.append(Product(peer.name, port, pid, peer.path, partial(peer_servers.sessions, peer)))
    return found


def _asked(folder: Path, stack: ExitStack, products: list[Product], crowd: int) -> list[Asked]:
    """Return the rows: three kinds of visits to each product, and page loads through nginx."""
    limit_port, limit = stack.enter_context(plain_nginx(folder / "limit"))
    rows = [Asked(_NGINX, limit_port, (limit,), visits.page_loads(visits.subrequest("/"), "s=x"))]
    for product in products:
        ask = visits.subrequest(product.path)
        (session,) = product.sessions(1)
        check_refusal(product, ask)
        kinds = {"page load": visits.page_loads(ask, session)}
        if product.name == OAUTH2_PROXY.name:
            kinds["page load with tokens of a provider"] = visits.page_loads(ask, peer_servers.session_with_tokens())
        if product.name not in {_BARE, "Gatewall, WAF off"}:
            kinds["API client"] = visits.api_client(ask, session)
            kinds["crowd"] = visits.crowd(ask, product.sessions(crowd))
        rows += [Asked(f"{product.name}, {kind}", product.port, (product.pid,), each) for kind, each in kinds.items()]
    behind = [each for each in products if each.name in {"Gatewall", OAUTH2_PROXY.name, VOUCH.name}]
    for name, port, pid, path, session in [
        (_NGINX, limit_port, limit, "/", "s=x"),
        *((each.name, each.port, each.pid, each.path, each.sessions(1)[0]) for each in behind),
    ]:
        asking = asking_nginx(folder / f"asks-{name.replace(' ', '-')}", port, path, limit_port)
        front, front_pid = stack.enter_context(asking)
        requests = visits.page_loads(visits.direct, session)
        rows.append(Asked(f"behind nginx: {name}, page load", front, (front_pid, pid, limit), requests))
    _pin({pid for row in rows for pid in row.pids})
    return rows


def check_refusal(product: Product, ask: visits.Ask) -> None:
    """Exit if a product that checks sessions lets in a visitor without one: its figures would be invalid."""
    found = status(product.port, next(visits.page_loads(ask, "no=session")))
    if product.name not in _WITHOUT_SESSIONS and found != _NO:
        raise SystemExit(f"{product.name} answered {found} to a visitor without a session")


def _pin(pids: set[int]) -> None:
    """Give the servers the first core and the client the last, if there are two."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        return
    for pid in pids:
        for each in Path("/proc").joinpath(str(pid), "task").glob("*/children"):
            for child in each.read_text().split():
                os.sched_setaffinity(int(child), cores[:1])
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), cores[:1])
    os.sched_setaffinity(0, cores[-1:])


if __name__ == "__main__":
    main()
