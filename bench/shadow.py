"""Cost of a shadow policy: ``python -m bench.shadow [--rounds N] [--requests N]``.

The data plane's own server in this process, over a loopback connection that a second process keeps busy: whole answers
with a session, the built-in WAF rules and a record in a spool. Interleaved rounds without a shadow policy and with one
that is asked for all requests, within 25 % of the CPU time of answering. Quote the ratios, not the microseconds.

The client sends its next request at once, so every evaluation delays one: the worst case for latency.
"""

import argparse
import asyncio
import json
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from audit.spool.writer import SpoolWriter
from bench.access_rules import requests
from gatewall.engine.snapshot import PolicySnapshot, Version
from gatewall.engine.waf.judge import builtin_rules
from gatewall.engine.waf.vector import CompiledNow
from gatewall.gate import bodies
from gatewall.gate.application import AuthApplication
from gatewall.gate.gate import Gate
from gatewall.gate.responses import GuardPage
from gatewall.gate.shadow import Shadow, ShadowFigures, ShadowPolicy
from gatewall.kernel.trusted_callers import TrustedCallers
from gatewall.server.server import AtOnceServer
from gatewall.snapshot import codec
from gatewall.snapshot.assembly import Assembly, SegmentData
from tests.support.cast import NOW, TRUSTED, a_credential_check, a_ports, a_source

_DOMAINS = {f"app{number}.example.com": "authenticated" for number in range(50)}
_CPU_PERCENT = 25


@dataclass(frozen=True)
class _Fixed:
    """A source of one policy."""

    policy: PolicySnapshot

    def current(self) -> PolicySnapshot:
        return self.policy


@dataclass(frozen=True)
class Round:
    """One round: CPU microseconds and latencies of an answer, and what the shadow policy took."""

    cpu: float
    median: float
    slowest: float
    figures: ShadowFigures


def policy(access: str, **settings: Any) -> PolicySnapshot:
    """Return a policy with the built-in rules, whose domains have this access."""
    source = a_source(domains=dict.fromkeys(_DOMAINS, access), rules=builtin_rules(), waf_mode="block", **settings)
    data = {name: SegmentData(name, partial(codec.encode, name, rows)) for name, rows in source.items()}
    return Assembly(CompiledNow()).build(Version(1), data)


def application(folder: Path, live: PolicySnapshot) -> tuple[AuthApplication, Shadow]:
    """Return the data plane's application and its shadow."""
    source, spool = _Fixed(live), SpoolWriter(folder, "node")
    ports = a_ports(country="DE", credentials=a_credential_check())
    gate = Gate(source, ports, trusted=TRUSTED, guard=GuardPage("/wall"), clock=lambda: NOW, records=spool)
    gate.shadow = Shadow(ports, ports, spool)
    return AuthApplication(gate, source, "/wall", TrustedCallers(TRUSTED, None)), gate.shadow


async def measure(folder: Path, rounds: int, count: int) -> dict[str, list[Round]]:
    """Return the rounds without and with a shadow policy."""
    live, other = policy("authenticated"), policy("denied")
    answering, shadow = application(folder, live)
    found: dict[str, list[Round]] = {"without": [], "with": []}
    async with serving(answering) as port:
        await asked(port, count // 10)  # warm up
        for number in range(rounds):
            shadow.use(None)
            found["without"].append(await _round(port, count, shadow))
            shadow.use(ShadowPolicy(str(number), other, 100, _CPU_PERCENT))
            found["with"].append(await _round(port, count, shadow))
    return found


@asynccontextmanager
async def serving(answering: AuthApplication) -> AsyncIterator[int]:
    """Serve the data plane's application in this process; provide its port on loopback."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    server = AtOnceServer(answering, [listening], bodies.bounds)
    answering.work_after_answers(partial(asyncio.get_running_loop().call_later, 0))
    server.start()
    yield listening.getsockname()[1]
    await server.stop(1.0)
    answering.close()


async def _round(port: int, count: int, shadow: Shadow) -> Round:
    cpu, latencies = await asked(port, count)
    figures = ShadowFigures(**asdict(shadow.figures))
    return Round(cpu, latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100], figures)


async def asked(port: int, count: int) -> tuple[float, list[float]]:
    """Have a second process send requests; return this process's CPU microseconds per answer, and sorted latencies."""
    command = [sys.executable, "-m", "bench.shadow", "--client", str(port), "--requests", str(count)]
    child = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdin is not None  # noqa: S101 - a pipe, see above
    assert child.stdout is not None  # noqa: S101 - as above
    await child.stdout.readline()  # it is connected
    began = time.process_time()
    child.stdin.write(b"\n")
    latencies: list[float] = json.loads(await child.stdout.readline())
    cpu = (time.process_time() - began) * 1e6 / count
    await child.wait()
    return cpu, latencies


def ask(port: int, count: int) -> None:
    """Send requests one after another; print the sorted latencies in microseconds."""
    heads = [
        b"GET /wall/auth HTTP/1.1\r\n" + b"".join(b"%b: %b\r\n" % line for line in lines) + b"\r\n"
        for lines in requests(5)
    ]
    taken = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        for number in range(count):
            began = time.perf_counter()
            connection.sendall(heads[number % len(heads)])
            if not connection.recv(65_536).startswith(b"HTTP/1.1 200"):
                raise SystemExit("an answer was not 200")
            taken.append(round((time.perf_counter() - began) * 1e6, 1))
    sys.stdout.write(json.dumps(sorted(taken)) + "\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--client", type=int, help="for the second process: the port")
    options = parser.parse_args()
    if options.client:
        ask(options.client, options.requests)
        return
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(Path(folder) / "spool", options.rounds, options.requests))
    rows = ["| With a shadow policy, to without | Median of the rounds (least to most) |", "|---|---|"]
    for name, field in (("CPU time", "cpu"), ("median latency", "median"), ("latency, 99th percentile", "slowest")):
        pairs = zip(found["with"], found["without"], strict=True)
        ratios = sorted(getattr(on, field) / getattr(off, field) for on, off in pairs)
        rows.append(f"| {name} | {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) |")
    spent = [each.figures.shadow_seconds / each.figures.answer_seconds for each in found["with"]]
    share = [each.figures.evaluated / each.figures.answers for each in found["with"]]
    rows += [
        f"| evaluating's CPU time, of answering's (limit {_CPU_PERCENT} %) | {100 * statistics.median(spent):.1f} % |",
        f"| requests evaluated (100 % asked for) | {100 * statistics.median(share):.0f} % |",
        f"| CPU microseconds an answer, without | {statistics.median(each.cpu for each in found['without']):.0f} |",
    ]
    sys.stdout.write("\n".join(rows) + "\n")
    if max(spent) > _CPU_PERCENT / 100 + 0.01:
        raise SystemExit("the CPU budget was exceeded")


if __name__ == "__main__":
    main()
