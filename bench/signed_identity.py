"""Cost of the signed identity: ``python -m bench.signed_identity [--rounds N] [--requests N]``.

Whole answers of the data plane to a visitor with a session: the built-in WAF rules and a record. Over its own server,
which a second process keeps busy, as in ``bench.shadow``; and in one process without a server, where it weighs most.
Interleaved rounds with the setting off and with each algorithm. A token is signed once for a subject, host and 30
seconds, here once at all; what one costs is a row of its own. Quote the ratios, not the microseconds.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from audit.spool.writer import SpoolWriter
from bench.access_rules import measure, requests
from bench.shadow import asked, policy, serving
from gatewall.credentials.identity_keys import IdentityKeys
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.gate.application import AuthApplication
from gatewall.gate.gate import Gate
from gatewall.gate.responses import GuardPage
from gatewall.gate.signed_identity import SignedIdentities
from gatewall.kernel.trusted_callers import TrustedCallers
from tests.support.cast import KEYS, NOW, TRUSTED, a_credential_check, a_ports

LIMIT = 1.05
"""Of the answer through the server, of which a session is the row of ``bench.auth``."""
_SIGNATURES = 200
_SETTINGS = ("off", "EdDSA", "ES256")


class _Chosen:
    """A source of the policy that is in use."""

    def __init__(self, policies: Mapping[str, PolicySnapshot]) -> None:
        self.policies = policies
        self.use("off")

    def use(self, setting: str) -> None:
        self.policy = self.policies[setting]

    def current(self) -> PolicySnapshot:
        return self.policy


def application(folder: Path, source: _Chosen) -> AuthApplication:
    """Return the data plane's application, which can sign."""
    ports, spool = a_ports(country="DE", credentials=a_credential_check()), SpoolWriter(folder, "node")
    gate = Gate(source, ports, trusted=TRUSTED, guard=GuardPage("/wall"), clock=lambda: NOW, records=spool)
    gate.identities = SignedIdentities(IdentityKeys(KEYS), "https://wall.example.com")
    return AuthApplication(gate, source, "/wall", TrustedCallers(TRUSTED, None))


async def over_a_server(folder: Path, rounds: int, count: int) -> dict[str, list[float]]:
    """Return the CPU microseconds of an answer in each round, by setting."""
    source = _Chosen({name: policy("authenticated", signed_identity=name) for name in _SETTINGS})
    times: dict[str, list[float]] = {name: [] for name in _SETTINGS}
    async with serving(application(folder, source)) as port:
        for setting in _SETTINGS:  # warm up
            source.use(setting)
            await asked(port, count // 10)
        for number in range(rounds):
            for setting in _SETTINGS[number % 3 :] + _SETTINGS[: number % 3]:
                source.use(setting)
                times[setting].append((await asked(port, count))[0])
    return times


def in_one_process(folder: Path, rounds: int, count: int) -> dict[str, list[float]]:
    """Return the same without a server."""
    by_name = {name: _Chosen({"off": policy("authenticated", signed_identity=name)}) for name in _SETTINGS}
    by_setting = {name: application(folder / name, source) for name, source in by_name.items()}
    lines = requests(count)
    measure(by_setting, lines[:50], 1)
    return measure(by_setting, lines, rounds)


def signing(algorithm: str) -> float:
    """Return the CPU microseconds of a signature."""
    keys, began = IdentityKeys(KEYS), time.thread_time_ns()
    for number in range(_SIGNATURES):
        keys.sign({"sub": str(number), "iat": number}, algorithm)
    return (time.thread_time_ns() - began) / 1000 / _SIGNATURES


def row(name: str, costs: list[float], off: list[float]) -> tuple[str, float]:
    """Return a row of the table, and its ratio."""
    ratios = sorted(cost / without for cost, without in zip(costs, off, strict=True))
    middle = statistics.median(ratios)
    spread = f"{middle:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    return f"| {name} | {statistics.median(costs):.0f} | {spread} |", middle


def main() -> None:
    """Measure and print; exit 1 if an algorithm costs more than the limit over the server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=3000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        served = asyncio.run(over_a_server(Path(folder) / "served", options.rounds, options.requests))
        alone = in_one_process(Path(folder), options.rounds, options.requests)
    print_ = sys.stdout.write
    print_("| Answer | CPU us | Ratio to `off` (least to most) |\n|---|---|---|\n")
    over = []
    for where, times in (("over its server", served), ("in one process", alone)):
        for setting in _SETTINGS:
            text, ratio = row(f"{where}, `{setting}`", times[setting], times["off"])
            print_(text + "\n")
            over += [setting] if times is served and ratio > LIMIT else []
    for algorithm in _SETTINGS[1:]:
        print_(f"| a signature, `{algorithm}` | {signing(algorithm):.0f} | - |\n")
    if over:
        raise SystemExit(f"more than {LIMIT} times an answer without: {', '.join(over)}")


if __name__ == "__main__":
    main()
