"""CPU that the policy in memory saves over one in a cache: ``python -m bench.policy_in_memory [--rounds N]``.

Whole answers of the data plane in this process, with a session and a record; the WAF is off. The policy comes from

* memory, as on the data plane;
* Django's cache, asked for the version alone, while the policy is in memory;
* Django's cache, asked for all segments, which are decoded for each request, as by a view that keeps nothing.

The cache is Django's in this process, and a Valkey over loopback. CPU microseconds of one thread, interleaved rounds;
the time in which Valkey answers is not counted. Quote the ratios, not the microseconds.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from django.core.cache.backends.base import BaseCache

from audit.spool.writer import SpoolWriter
from bench.access_rules import requests
from bench.report import spread
from gatewall.database.local_cache import LocalCache
from gatewall.database.shared_cache import SharedCache
from gatewall.engine.snapshot import PolicySnapshot, Version
from gatewall.gate.application import AuthApplication
from gatewall.gate.gate import Gate
from gatewall.gate.responses import GuardPage
from gatewall.kernel.trusted_callers import TrustedCallers
from gatewall.snapshot import codec
from gatewall.snapshot.assembly import Assembly, SegmentData
from tests.support.cast import NOW, TRUSTED, a_credential_check, a_policy, a_ports, a_source
from tests.support.valkey import valkey

_SIZES = {"1,000 networks": 1000, "100,000 networks": 100_000}
_SERIALIZER = "gatewall.database.shared_cache.PlainSerializer"


@dataclass(frozen=True)
class _Source:
    """A policy, read again for each decision."""

    current: Callable[[], PolicySnapshot]


def _kept(policy: PolicySnapshot) -> PolicySnapshot:
    return policy


def _from_version(cache: BaseCache, policy: PolicySnapshot) -> PolicySnapshot:
    if cache.get("version") != b"1":
        raise LookupError
    return policy


def _from_segments(cache: BaseCache, names: list[str]) -> PolicySnapshot:
    segments = {name: SegmentData(name, partial(cache.get, name)) for name in names}
    return Assembly().build(Version(1), segments)


def _sources(caches: Mapping[str, BaseCache]) -> Iterator[tuple[str, _Source]]:
    for size, count in _SIZES.items():
        blocked = [str(IPv4Address(0x0B000000 + 257 * number)) for number in range(count)]
        parts: dict[str, Any] = {
            "blocked": blocked,
            "domains": {"app7.example.com": "authenticated"},
            "waf_mode": "off",
        }
        policy = a_policy(**parts)
        yield f"{size}: in memory", _Source(partial(_kept, policy))
        for name, cache in caches.items():
            cache.set("version", b"1", None)
            for segment, rows in a_source(**parts).items():
                cache.set(f"{count}/{segment}", codec.encode(segment, rows), None)
            names = list(a_source(**parts))
            yield f"{size}: version from {name}", _Source(partial(_from_version, cache, policy))
            renamed = _Renamed(cache, f"{count}/")
            yield f"{size}: policy from {name}", _Source(partial(_from_segments, renamed, names))


class _Renamed(BaseCache):
    """A cache whose keys have a prefix."""

    def __init__(self, cache: BaseCache, prefix: str) -> None:
        self._cache = cache
        self._prefix = prefix

    def get(self, key: str, *_: object, **__: object) -> object:
        return self._cache.get(self._prefix + key)


@contextmanager
def _caches() -> Iterator[dict[str, BaseCache]]:
    with valkey() as server:
        server.start()
        options = {"serializer": _SERIALIZER, "socket_timeout": 5}
        shared = SharedCache(f"redis://127.0.0.1:{server.port}", {"OPTIONS": options})
        yield {"Django's cache in the process": LocalCache("bench", {"MAX_ENTRIES": 10_000}), "Valkey": shared}


def _application(source: _Source, spool: SpoolWriter) -> AuthApplication:
    ports = a_ports(country="DE", credentials=a_credential_check())
    gate = Gate(source, ports, trusted=TRUSTED, guard=GuardPage("/wall"), clock=lambda: NOW, records=spool)
    return AuthApplication(gate, source, "/wall", TrustedCallers(TRUSTED, None))


def _microseconds(application: AuthApplication, lines: list[list[tuple[bytes, bytes]]]) -> float:
    began = time.thread_time_ns()
    for each in lines:
        status = application("GET", b"/wall/auth", each, "10.0.0.1", "http", None).status
        if status != 200:
            raise ValueError(status)
    return (time.thread_time_ns() - began) / 1000 / len(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=400)
    options = parser.parse_args()
    lines = requests(options.requests)
    times: dict[str, list[float]] = {}
    with _caches() as caches, tempfile.TemporaryDirectory() as folder:
        spool = SpoolWriter(Path(folder), "node")
        asked = {name: _application(source, spool) for name, source in _sources(caches)}
        for _ in range(options.rounds):
            for name, application in asked.items():
                few = lines[: options.requests // 20] if "policy from" in name else lines
                times.setdefault(name, []).append(_microseconds(application, few))
    rows = ["| Policy | CPU us an answer | Times that of memory (least to most) |", "|---|---|---|"]
    for name, costs in times.items():
        memory = times[f"{name.partition(':')[0]}: in memory"]
        ratio = spread([cost / best for cost, best in zip(costs, memory, strict=True)])
        least_to_most = f"{ratio['median']:.2f} ({ratio['least']:.2f} to {ratio['most']:.2f})"
        rows.append(f"| {name} | {spread(costs)['median']:,.0f} | {least_to_most} |")
    sys.stdout.write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
