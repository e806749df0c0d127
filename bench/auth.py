"""What an answer of ``/auth`` costs: ``python -m bench.auth [--rounds N] [--requests N] [--write]``.

Server CPU microseconds per request (user and system time of the server's processes over requests), in
interleaved rounds: every round measures every server once, so that a slow phase of the machine hits
all of them. The figures to quote are the ratios to nginx ``return 200``, not the microseconds.
"""

import argparse
import os
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import report
from bench.cpu import cpu_seconds
from bench.load import send
from bench.servers import granian, plain_nginx, protecting_nginx
from bench.site import prepared_site

_BASE = Path(__file__).resolve().parent.parent
_WARM_UP = 400


@dataclass(frozen=True, slots=True)
class Server:
    """Something to measure: where it listens, the processes whose time counts, and its limit."""

    name: str
    port: int
    pids: tuple[int, ...]
    request: bytes
    limit: str


def main() -> None:
    """Measure, print, and with --write update docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--write", action="store_true", help="write bench/results/auth.json and docs/performance.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers = _start(Path(folder), stack)
        rounds = [_round(servers, options.requests) for _ in range(options.rounds)]
    result = report.summary(rounds, {server.name: server.limit for server in servers}, options.requests)
    print(report.as_text(result))  # noqa: T201 - a command
    if options.write:
        report.write("auth", result, report.as_text(result), _BASE)


def _round(servers: list[Server], requests: int) -> dict[str, float]:
    """Return the CPU microseconds per request of every server."""
    costs = {}
    for server in servers:
        before = sum(cpu_seconds(pid) for pid in server.pids)
        sent = send(server.port, server.request, requests=requests)
        used = sum(cpu_seconds(pid) for pid in server.pids) - before
        if set(sent.statuses) != {200}:
            raise SystemExit(f"{server.name} answered {sent.statuses}")
        costs[server.name] = used / sent.requests * 1_000_000
    return costs


def _start(folder: Path, stack: ExitStack) -> list[Server]:
    site = prepared_site(folder / "home")
    limit_port, limit = stack.enter_context(plain_nginx(folder / "limit"))
    bare_port, bare = stack.enter_context(granian("bench.bare_app:application", os.environ))
    gate_port, gate = stack.enter_context(granian("gatewall.asgi:application", site.environment))
    proxied_limit = stack.enter_context(protecting_nginx(folder / "proxied-limit", limit_port, limit_port))
    proxied_gate = stack.enter_context(protecting_nginx(folder / "proxied-gate", gate_port, limit_port))
    servers = [
        Server("nginx return 200", limit_port, (limit,), site.subrequest, ""),
        Server("bare ASGI application", bare_port, (bare,), site.subrequest, "nginx return 200"),
        Server("data plane", gate_port, (gate,), site.subrequest, "nginx return 200"),
        # The site behind is nginx too; its share is in both of these.
        Server("nginx asks nginx", proxied_limit[0], (proxied_limit[1], limit), site.request, ""),
        Server(
            "nginx asks data plane", proxied_gate[0], (proxied_gate[1], gate, limit), site.request, "nginx asks nginx"
        ),
    ]
    for server in servers:
        send(server.port, server.request, requests=_WARM_UP)
    return servers


if __name__ == "__main__":
    main()
