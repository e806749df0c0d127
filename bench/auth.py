"""CPU cost of an answer of ``/auth``: ``python -m bench.auth [--rounds N] [--requests N] [--write]``.

Server CPU microseconds per request (user and system), in interleaved rounds of all servers, so that noise affects all.
Quote the ratios to nginx ``return 200``, not the microseconds.
"""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bench import report, traffic
from bench.cpu import cpu_seconds
from bench.load import Sent, send, send_each
from bench.servers import DATA_PLANE, data_plane, plain_nginx, protecting_nginx, until_compiled
from bench.site import Site, auth_request, browser_headers, prepared_site, run_child

_WARM_UP = 400
_SIZE = ("--networks", "100000", "--users", "1000")


@dataclass(frozen=True, slots=True)
class Server:
    """A server to measure: port, processes, and baseline.

    ``others`` are requests to send once each instead of the same one.
    """

    name: str
    port: int
    pids: tuple[int, ...]
    request: bytes
    limit: str
    others: Iterator[bytes] | None = None

    def ask(self, requests: int) -> Sent:
        """Send this many requests."""
        if self.others is None:
            return send(self.port, self.request, requests=requests)
        return send_each(self.port, list(islice(self.others, requests)))


def main() -> None:
    """Measure, print, and with --write update docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--requests", type=int, default=4000)
    report.add_outputs(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers = _start(Path(folder), stack, options.rounds * options.requests)
        rounds = [_round(servers, options.requests) for _ in range(options.rounds)]
    result = report.summary(rounds, {server.name: server.limit for server in servers}, options.requests)
    report.deliver("auth", result, report.as_text(result), options)


def _round(servers: list[Server], requests: int) -> dict[str, float]:
    """Return the CPU microseconds per request of every server."""
    costs = {}
    for server in servers:
        before = sum(cpu_seconds(pid) for pid in server.pids)
        sent = server.ask(requests)
        used = sum(cpu_seconds(pid) for pid in server.pids) - before
        if set(sent.statuses) != {200}:
            raise SystemExit(f"{server.name} answered {sent.statuses}")
        costs[server.name] = used / sent.requests * 1_000_000
    return costs


def _start(folder: Path, stack: ExitStack, requests: int) -> list[Server]:
    geo = str(traffic.geo_database(folder / "country.mmdb"))
    site, without_waf = (prepared_site(folder / name, GEOIP_DATABASE=geo) for name in ("home", "without-waf"))
    tokens = _filled(site, "--sessions", str(requests + 2 * _WARM_UP))
    _filled(without_waf, "--waf", "off")
    limit_port, limit = stack.enter_context(plain_nginx(folder / "limit"))
    bare_port, bare = stack.enter_context(data_plane("bench.bare_app:application()", site.environment))
    gate_port, gate = stack.enter_context(data_plane(DATA_PLANE, site.environment))
    off_port, off = stack.enter_context(data_plane(DATA_PLANE, without_waf.environment))
    until_compiled(gate_port)
    proxied_limit = stack.enter_context(protecting_nginx(folder / "proxied-limit", limit_port, limit_port))
    proxied_gate = stack.enter_context(protecting_nginx(folder / "proxied-gate", gate_port, limit_port))
    servers = [
        Server("nginx return 200", limit_port, (limit,), site.subrequest, ""),
        Server("bare application", bare_port, (bare,), site.subrequest, "nginx return 200"),
        Server("data plane", gate_port, (gate,), site.subrequest, "nginx return 200"),
        Server("data plane, WAF off", off_port, (off,), without_waf.subrequest, "nginx return 200"),
        Server("data plane, all first seen", gate_port, (gate,), b"", "data plane", _first_seen(tokens)),
        # The protected site is nginx, too; its cost is part of both.
        Server("nginx asks nginx", proxied_limit[0], (proxied_limit[1], limit), site.request, ""),
        Server(
            "nginx asks data plane", proxied_gate[0], (proxied_gate[1], gate, limit), site.request, "nginx asks nginx"
        ),
    ]
    for server in servers:
        server.ask(_WARM_UP)
    return servers


def _filled(site: Site, *options: str) -> list[str]:
    """Add networks and users to an installation; return the requested sessions."""
    return run_child(site.environment, "-m", "bench.filled", *_SIZE, *options).split()


def _first_seen(tokens: list[str]) -> Iterator[bytes]:
    """Yield requests, each with an unused address and session."""
    for number, token in enumerate(tokens):
        yield auth_request(browser_headers(token), client=f"100.{number >> 16 & 63}.{number >> 8 & 255}.{number & 255}")


if __name__ == "__main__":
    main()
