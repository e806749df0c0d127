"""Latency added behind nginx: ``python -m bench.latency [--rounds N] [--seconds N] [--write]``.

Compares nginx with the shipped snippets and the data plane with all features to an nginx that always answers 200. Each
round measures the former's capacity (closed loop), then sends 60 % of it to both in an open loop; latencies count from
when a request was due. Quote the ratios within a round. Busy cores and run-queue waits are measured, too.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench import report, traffic
from bench.cpu import scheduled
from bench.load import send_each
from bench.open_loop import latencies, percentile
from bench.servers import DATA_PLANE, data_plane, plain_nginx, protecting_nginx, until_compiled
from bench.site import prepared_site, run_child, visitor_request

_SIZE = ("--networks", "100000", "--users", "1000", "--known", "1000")
_SHARE = 0.6
_SHARES = {"p50": 0.5, "p99": 0.99}
_CORES = ("all ran", "all waited", "data plane ran", "data plane waited")
_SHIPPED_WORKERS = 2
_LIMIT, _GATE = "nginx asks nginx", "nginx asks data plane"


def main() -> None:
    """Measure, print, and with --write update docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--requests", type=int, default=8000, help="in each closed loop")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each open loop")
    parser.add_argument("--workers", type=int, default=_SHIPPED_WORKERS, help="of the data plane")
    report.add_outputs(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ports, requests, gate = _start(Path(folder), stack, options.workers)
        for port in ports.values():
            send_each(port, requests)  # fill the caches
        rounds = [_round(ports, requests, gate, options, number) for number in range(options.rounds)]
    result = summary(rounds, options.seconds, options.workers)
    report.deliver("latency", result, as_text(result), options)


def _start(folder: Path, stack: ExitStack, workers: int) -> tuple[dict[str, int], list[bytes], int]:
    """Start everything; return the proxies' ports, a request of each of 1,000 users, and the data plane."""
    site = prepared_site(folder / "home", GEOIP_DATABASE=str(traffic.geo_database(folder / "country.mmdb")))
    lines = run_child(site.environment, "-m", "bench.filled", *_SIZE).splitlines()
    limit, _ = stack.enter_context(plain_nginx(folder / "limit"))
    gate, master = stack.enter_context(data_plane(DATA_PLANE, site.environment, workers=workers))
    until_compiled(gate)
    asked = {_LIMIT: limit, _GATE: gate}
    ports = {
        name: stack.enter_context(protecting_nginx(folder / f"proxy-{port}", port, limit))[0]
        for name, port in asked.items()
    }
    return ports, [visitor_request(line.split()[0]) for line in lines], master


def _round(
    ports: dict[str, int], requests: list[bytes], gate: int, options: argparse.Namespace, number: int
) -> dict[str, Any]:
    asked = (requests * (options.requests // len(requests) + 1))[: options.requests]
    began = time.perf_counter()
    sent = send_each(ports[_GATE], asked)
    capacity = sent.requests / (time.perf_counter() - began)
    if set(sent.statuses) != {200}:
        raise SystemExit(f"{_GATE} answered {sent.statuses}")
    took: dict[str, Any] = {"rate": capacity * _SHARE}
    for name in sorted(ports, reverse=bool(number % 2)):
        used = _CoresUsed({"all": os.getpid(), "data plane": gate})
        seconds = latencies(ports[name], requests, rate=took["rate"], until=_after(options.seconds))
        took[name] = {words: percentile(seconds, share) * 1000 for words, share in _SHARES.items()} | used.since()
    return took


class _CoresUsed:
    """Cores that process trees keep busy, and cores they were waiting for."""

    def __init__(self, roots: dict[str, int]) -> None:
        self._roots = roots
        self._began = time.perf_counter()
        self._before = {name: scheduled(root) for name, root in roots.items()}

    def since(self) -> dict[str, float]:
        """Return both for each, on average since the start."""
        seconds = time.perf_counter() - self._began
        found = {}
        for name, root in self._roots.items():
            for words, before, now in zip(("ran", "waited"), self._before[name], scheduled(root), strict=True):
                found[f"{name} {words}"] = (now - before) / seconds
        return found


def _after(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def summary(rounds: list[dict[str, Any]], seconds: float, workers: int) -> dict[str, Any]:
    """Return the rate, and medians and spreads of milliseconds and of ratios within each round."""
    rows = []
    for words in _SHARES:
        row: dict[str, Any] = {"name": words}
        for name in (_LIMIT, _GATE):
            row[name] = report.spread([each[name][words] for each in rounds])
        row["ratio"] = report.spread([each[_GATE][words] / each[_LIMIT][words] for each in rounds])
        rows.append(row)
    rates = report.spread([each["rate"] for each in rounds])
    cores = {words: report.spread([each[_GATE][words] for each in rounds]) for words in _CORES}
    begin = {**report.circumstances(), "rounds": len(rounds), "seconds": seconds, "workers": workers, "rate": rates}
    return {**begin, "rows": rows, "cores_used": cores}


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    rate = result["rate"]
    head = (
        f"{result['rounds']} interleaved rounds of {result['seconds']:.0f} s, {rate['median']:.0f} requests a second "
        f"({rate['least']:.0f} to {rate['most']:.0f}), workers of the data plane: {result.get('workers', 1)}, "
        f"{report.machine(result)}."
    )
    lines = [
        head,
        "",
        f"| Milliseconds behind nginx | {_LIMIT} (least to most) | {_GATE} | Ratio within a round |",
        "|---|---|---|---|",
    ]
    for row in result["rows"]:
        cells = [
            f"{each['median']:.2f} ({each['least']:.2f} to {each['most']:.2f})"
            for each in (row[_LIMIT], row[_GATE], row["ratio"])
        ]
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    if "cores_used" in result:
        lines += ["", _cores_as_text(result["cores_used"])]
    return "\n".join(lines)


def _cores_as_text(used: dict[str, dict[str, float]]) -> str:
    ran, waited, plane_ran, plane_waited = (
        f"{used[words]['median']:.2f} ({used[words]['least']:.2f} to {used[words]['most']:.2f})" for words in _CORES
    )
    return (
        f"While the data plane was asked, all processes of the bench kept {ran} cores busy and were ready to run on "
        f"{waited} more; the data plane kept {plane_ran} busy and was ready for {plane_waited} more."
    )


if __name__ == "__main__":
    main()
