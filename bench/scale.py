"""How costs grow with the policy: ``python -m bench.scale [--rounds N] [--requests N] [--write]``.

Compares a data plane worker with a small policy to workers with a million networks, 2,000 rules, or 100,000 users and
tokens, in interleaved rounds: CPU microseconds per request as a ratio, from 2,000 addresses with sessions or git
tokens. Then the delay of a change, latencies while the million is replaced, private memory, and cold starts.
"""

import argparse
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from bench import report
from bench.cpu import cpu_seconds, private_mebibytes
from bench.load import send_each, status
from bench.open_loop import latencies, percentile
from bench.servers import DATA_PLANE, data_plane, until_compiled
from bench.site import Site, auth_request, browser_headers, prepared_site, run_child

_BASE = Path(__file__).resolve().parent.parent
_LITTLE = {"networks": 10, "rules": 10, "users": 10}
_MUCH = {"networks": 1_000_000, "rules": 2_000, "users": 100_000}
_KNOWN = 2_000
"""Sessions, each from its own address; their users are spread over all shards."""
_EDITS = 8
_STARTS = 5
_RATE = 200.0
_REST_SECONDS = 20.0
_ENFORCED_WITHIN = 30.0
_REPLACED = 10_000


@dataclass(frozen=True, slots=True)
class Installation:
    """A site with one worker, and sessions and git tokens (``user:token``) of its users."""

    site: Site
    port: int
    pid: int
    credentials: list[tuple[str, str]]


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the measurements."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        much = {kind: number // arguments.divide for kind, number in _MUCH.items()}
        grown = {f"{number:,} {kind}": {kind: number} for kind, number in much.items()}
        sizes = {"little": {}, **grown, "all of it": much}
        found = {each: stack.enter_context(_installation(folder / each, size)) for each, size in sizes.items()}
        _round(found, _KNOWN)  # fill the caches
        rounds = [_round(found, arguments.requests) for _ in range(arguments.rounds)]
        memory = {each: [_mebibytes(installation)] for each, installation in found.items()}
        everything = found["all of it"]
        enforced, latency = _edits(everything), _swapped(everything)
        memory["all of it"].append(_mebibytes(everything))
        return {
            **report.circumstances(),
            "rounds": arguments.rounds,
            "requests": arguments.requests,
            "costs": _costs(rounds),
            "private_mib": {each: max(taken) for each, taken in memory.items()},
            "private_mib_before_and_after": memory["all of it"],
            "enforced_ms": enforced,
            "latency_ms": latency,
            "first_answer_ms": _starts({each: found[each] for each in ("little", "all of it")}),
        }


@contextmanager
def _installation(folder: Path, size: dict[str, int]) -> Iterator[Installation]:
    site = prepared_site(folder)
    options = ["--known", str(_KNOWN)]
    options += [part for kind, number in {**_LITTLE, **size}.items() for part in (f"--{kind}", str(number))]
    lines = run_child(site.environment, "-m", "bench.filled", *options).splitlines()
    credentials = [(session, token) for session, token in map(str.split, lines)]
    with data_plane(DATA_PLANE, site.environment) as (port, pid):
        until_compiled(port)
        yield Installation(site, port, pid, credentials)


def _round(found: dict[str, Installation], requests: int) -> dict[str, float]:
    """Return the CPU microseconds per request of each installation, with sessions and with git tokens."""
    costs = {}
    for name, installation in found.items():
        for kind, number in (("session", 0), ("git token", 1)):
            each = cycle(enumerate(installation.credentials))
            asked = [_request(pair[number], kind, _address(place)) for place, pair in islice(each, requests)]
            before = cpu_seconds(installation.pid)
            sent = send_each(installation.port, asked)
            if set(sent.statuses) != {200}:
                raise SystemExit(f"{name} answered {sent.statuses}")
            costs[f"{name}, {kind}"] = (cpu_seconds(installation.pid) - before) / requests * 1_000_000
    return costs


def _address(number: int) -> str:
    """Return an address that is on no list."""
    return f"100.64.{number >> 8 & 255}.{number & 255}"


def _mebibytes(installation: Installation) -> float:
    return round(private_mebibytes(installation.pid), 1)


def _request(credential: str, kind: str, client: str = "192.0.2.7") -> bytes:
    if kind == "session":
        return auth_request(browser_headers(credential), client=client)
    headers = [line for line in browser_headers("") if not line.startswith("Cookie")]
    return auth_request([*headers, f"Service-Git-Token: {credential}"], client=client)


def _costs(rounds: list[dict[str, float]]) -> list[dict[str, Any]]:
    rows = []
    for name in rounds[0]:
        limit = f"little, {name.rpartition(', ')[2]}"
        ratios = [each[name] / each[limit] for each in rounds]
        row = {"name": name, "cpu_us": report.spread([each[name] for each in rounds])}
        rows.append(row if name == limit else {**row, "ratio": report.spread(ratios)})
    return rows


def _edits(installation: Installation) -> dict[str, dict[str, float]]:
    """Return the milliseconds until each kind of change was enforced, from the service call on."""
    session, token = installation.credentials[0]
    took: dict[str, list[float]] = {"ban": [], "user": [], "git token": []}
    with _orders(installation.site) as order:
        for number in range(_EDITS):
            address = f"192.0.2.{100 + number}"
            took["ban"].append(_enforced(installation, _request(session, "session", address), order, f"ban {address}"))
        for session, token in installation.credentials[1 : _EDITS + 1]:
            name = token.partition(":")[0]
            took["git token"].append(_enforced(installation, _request(token, "git token"), order, f"revoke {name}"))
            took["user"].append(_enforced(installation, _request(session, "session"), order, f"disable {name}"))
    return {kind: report.spread([each * 1000 for each in seconds]) for kind, seconds in took.items()}


def _enforced(installation: Installation, request: bytes, order: "subprocess.Popen[str]", what: str) -> float:
    if status(installation.port, request) != 200:
        raise SystemExit(f"refused before: {what}")
    _give(order, what)
    deadline = time.monotonic() + _ENFORCED_WITHIN
    while (found := status(installation.port, request)) == 200:
        if time.monotonic() > deadline:
            raise SystemExit(f"not enforced: {what}")
        time.sleep(0.002)
    seen = time.time()
    if found not in {401, 403}:
        raise SystemExit(f"answered {found}: {what}")
    return seen - float(_said(order).split()[0])


def _swapped(installation: Installation) -> dict[str, dict[str, float]]:
    """Return milliseconds of answers when idle, and while entries of the million are replaced."""
    switched_off = {token.partition(":")[0] for _, token in installation.credentials[1 : _EDITS + 1]}
    others = [session for session, token in installation.credentials if token.partition(":")[0] not in switched_off]
    requests = [_request(session, "session", _address(number)) for number, session in enumerate(others)]
    end = time.monotonic() + _REST_SECONDS
    rest = latencies(installation.port, requests, rate=_RATE, until=lambda: time.monotonic() > end)
    with _orders(installation.site) as order:
        _give(order, f"replace {_REPLACED}")
        busy = latencies(installation.port, requests, rate=_RATE, until=_answered(order, settle=2.0))
    return {name: _percentiles(each) for name, each in (("at rest", rest), ("replaced", busy))}


def _percentiles(seconds: list[float]) -> dict[str, float]:
    shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "most": 1.0}
    return {name: round(percentile(seconds, share) * 1000, 2) for name, share in shares.items()} | {"n": len(seconds)}


def _answered(order: "subprocess.Popen[str]", settle: float) -> Callable[[], bool]:
    """Return whether the order was completed some seconds ago: workers load the new list after it."""
    waiting = selectors.DefaultSelector()
    waiting.register(order.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]  # a pipe
    done: list[float] = []

    def is_over() -> bool:
        if not done and waiting.select(0):
            done.append(time.monotonic())
        return bool(done) and time.monotonic() > done[0] + settle

    return is_over


@contextmanager
def _orders(site: Site) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "bench.edits"]
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603 - our own command
        command, cwd=_BASE, env=site.environment, stdin=pipe, stdout=pipe, text=True
    ) as order:
        _said(order)
        yield order
        if order.stdin is not None:
            order.stdin.close()


def _give(order: "subprocess.Popen[str]", what: str) -> None:
    if order.stdin is not None:
        order.stdin.write(f"{what}\n")
        order.stdin.flush()


def _said(order: "subprocess.Popen[str]") -> str:
    return order.stdout.readline() if order.stdout is not None else ""


def _starts(found: dict[str, Installation]) -> dict[str, dict[str, float]]:
    """Return milliseconds from a server's start to its first right answer, of several starts."""
    took = [{name: _cold(installation) for name, installation in found.items()} for _ in range(_STARTS)]
    return {name: report.spread([each[name] for each in took]) for name in found}


def _cold(installation: Installation) -> float:
    request = _request(installation.credentials[0][0], "session")
    began = time.perf_counter()
    with data_plane(DATA_PLANE, installation.site.environment, pause=0.005) as (port, _):
        while status(port, request) != 200:
            time.sleep(0.002)
        return round((time.perf_counter() - began) * 1000)


def as_text(result: dict[str, Any]) -> str:
    """Return the result as Markdown tables."""
    lines = [
        f"{result['rounds']} interleaved rounds of {result['requests']} requests, {report.machine(result)}.",
        "",
        "| Policy, credential | CPU us a request (least to most) | Times the cost with little (least to most) |",
        "|---|---|---|",
    ]
    for row in result["costs"]:
        cost, ratio = row["cpu_us"], row.get("ratio")
        shown = f"{ratio['median']:.2f} ({ratio['least']:.2f} to {ratio['most']:.2f})" if ratio else "1"
        lines.append(f"| {row['name']} | {cost['median']:.0f} ({cost['least']:.0f} to {cost['most']:.0f}) | {shown} |")
    lines += ["", "| Changed beside all of it | Enforced after ms, median | Least | Most |", "|---|---|---|---|"]
    for kind, took in result["enforced_ms"].items():
        lines.append(f"| {kind} | {took['median']:.0f} | {took['least']:.0f} | {took['most']:.0f} |")
    lines += ["", f"| Answers at {_RATE:.0f} a second, ms | p50 | p99 | p99.9 | Most |", "|---|---|---|---|---|"]
    for name, each in result["latency_ms"].items():
        lines.append(f"| {name} | {each['p50']} | {each['p99']} | {each['p99.9']} | {each['most']} |")
    before, after = result["private_mib_before_and_after"]
    lines += [
        "",
        f"Beside all of it, the worker had {before} MiB before the edits and the replacement and {after} after.",
    ]
    lines += ["", "| Policy | Private MiB of the worker | Start to first right answer, ms, median | Longest |"]
    lines += ["|---|---|---|---|"]
    for name, mib in result["private_mib"].items():
        took = result["first_answer_ms"].get(name)
        lines.append(f"| {name} | {mib} | " + (f"{took['median']:.0f} | {took['most']:.0f} |" if took else "- | - |"))
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--requests", type=int, default=_KNOWN)
    report.add_outputs(parser)
    parser.add_argument("--divide", type=int, default=1, help="have that many times less of everything, to try it out")
    given = parser.parse_args()
    measured = main(given)
    report.deliver("scale", measured, as_text(measured), given)
