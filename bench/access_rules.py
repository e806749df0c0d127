"""CPU cost of access rules: ``python -m bench.access_rules [--rounds N] [--requests N]``.

Whole answers of the data plane in this process, from header lines to headers, with a session and a record in a spool;
the WAF is off, so that rules weigh the more. Interleaved rounds of all policies over the same requests, in CPU
microseconds of one thread. Quote the ratios to the policy without rules, not the microseconds.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from audit.spool.writer import SpoolWriter
from gatewall.engine.access_rules.rules import AccessRule, PathMatch, PathPattern
from gatewall.engine.addresses import parse_network
from gatewall.engine.hosts import Access
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.gate.application import AuthApplication
from gatewall.gate.gate import Gate
from gatewall.gate.responses import GuardPage
from gatewall.kernel.trusted_callers import TrustedCallers
from tests.support.cast import BOB, NOW, TRUSTED, a_credential_check, a_policy, a_ports, a_session_token

_HOST = "app7.example.com"
_DOMAINS = {f"app{number}.example.com": "authenticated" for number in range(50)}
_PATHS = ("/", "/projects/42/board?tab=open", "/api/v1/items", "/static/app.js", "/files/Quarterly%20report.pdf")


@dataclass(frozen=True)
class _Fixed:
    """A source of one policy."""

    policy: PolicySnapshot

    def current(self) -> PolicySnapshot:
        return self.policy


def a_rule(number: int, host: str | None, path: str | None) -> AccessRule:
    """Return a rule for a path of a host; without a path, for a network that is not the client's."""
    domains = frozenset({host}) if host else frozenset[str]()
    paths = (PathPattern(PathMatch.PREFIX, path),) if path else ()
    networks = () if path else (parse_network(f"10.{number // 250}.{number % 250}.0/24"),)
    access = Access.TWO_FACTOR if path else Access.DENIED
    return AccessRule(number, f"rule {number}", access, domains=domains, paths=paths, networks=networks)


def policies() -> dict[str, PolicySnapshot]:
    """Return the policies to compare, by what they have."""
    hosts = list(_DOMAINS)
    rules: dict[str, list[AccessRule]] = {
        "no rules": [],
        "20 rules for the host": [a_rule(n, _HOST, f"/section{n}/admin") for n in range(20)],
        "1,000 rules for other hosts": [a_rule(n, hosts[10 + n % 40], f"/section{n}") for n in range(1000)],
        "1,000 rules for 50 hosts": [a_rule(n, hosts[n % 50], f"/section{n}") for n in range(1000)],
        "1,000 rules for the paths of the host": [a_rule(n, _HOST, f"/api/v2/section{n}") for n in range(1000)],
        "20 rules for networks at the host": [a_rule(n, _HOST, None) for n in range(20)],
        "1,000 rules for networks at the host": [a_rule(n, _HOST, None) for n in range(1000)],
    }
    return {name: a_policy(domains=_DOMAINS, waf_mode="off", access_rules=each) for name, each in rules.items()}


def applications(folder: Path) -> dict[str, AuthApplication]:
    """Return the data plane's application over each policy."""
    found = {}
    for number, (name, policy) in enumerate(policies().items()):
        source = _Fixed(policy)
        ports = a_ports(country="DE", credentials=a_credential_check())
        spool = SpoolWriter(folder / str(number), "node")
        gate = Gate(source, ports, trusted=TRUSTED, guard=GuardPage("/wall"), clock=lambda: NOW, records=spool)
        found[name] = AuthApplication(gate, source, "/wall", TrustedCallers(TRUSTED, None))
    return found


def requests(count: int) -> list[list[tuple[bytes, bytes]]]:
    """Return header lines of a proxy that asks about visits of a signed-in user."""
    token = a_session_token(BOB)
    headers = {
        "host": "gatewall",
        "x-forwarded-for": "192.0.2.7",
        "x-forwarded-host": _HOST,
        "x-forwarded-proto": "https",
        "x-forwarded-method": "GET",
        "cookie": f"theme=dark; service.token={token}",
        "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari",
        "accept": "text/html,application/xhtml+xml",
    }
    lines = [(name.encode(), value.encode()) for name, value in headers.items()]
    return [[*lines, (b"x-forwarded-uri", _PATHS[number % len(_PATHS)].encode())] for number in range(count)]


def measure(
    asked: Mapping[str, AuthApplication], lines: Sequence[list[tuple[bytes, bytes]]], rounds: int
) -> dict[str, list[float]]:
    """Return the CPU microseconds of an answer in each round, by policy."""
    times: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(rounds):
        for name, application in asked.items():
            began = time.thread_time_ns()
            for each in lines:
                application("GET", b"/wall/auth", each, "10.0.0.1", "http", None)
            times[name].append((time.thread_time_ns() - began) / 1000 / len(lines))
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--requests", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asked, lines = applications(Path(folder)), requests(options.requests)
        measure(asked, lines[:50], 1)
        times = measure(asked, lines, options.rounds)
    rows = ["| Policy | CPU us an answer | Ratio to no rules (least to most) |", "|---|---|---|"]
    for name, costs in times.items():
        ratios = sorted(cost / none for cost, none in zip(costs, times["no rules"], strict=True))
        middle = statistics.median(ratios)
        rows.append(f"| {name} | {statistics.median(costs):.0f} | {middle:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) |")
    sys.stdout.write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
