"""How long a visitor waits behind nginx: ``python -m bench.latency [--rounds N] [--seconds N] [--write]``.

Nginx with the shipped snippets asks the data plane with every feature on, or an nginx that always says 200. Each round
first takes what the former can answer in a closed loop, then sends 60 % of that to both, at fixed moments, each
request counted from the moment it was due. The figures to quote are the ratios within a round.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench import report, traffic
from bench.load import send_each
from bench.open_loop import latencies, percentile
from bench.servers import DATA_PLANE, data_plane, plain_nginx, protecting_nginx, until_compiled
from bench.site import prepared_site, run_child, visitor_request

_SIZE = ("--networks", "100000", "--users", "1000", "--known", "1000")
_SHARE = 0.6
_SHARES = {"p50": 0.5, "p99": 0.99}
_LIMIT, _GATE = "nginx asks nginx", "nginx asks data plane"


def main() -> None:
    """Measure, print, and with --write update docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--requests", type=int, default=2000, help="in each closed loop")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each open loop")
    report.add_outputs(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ports, requests = _start(Path(folder), stack)
        for port in ports.values():
            send_each(port, requests)  # for the memos
        rounds = [_round(ports, requests, options, number) for number in range(options.rounds)]
    result = summary(rounds, options.seconds)
    report.deliver("latency", result, as_text(result), options)


def _start(folder: Path, stack: ExitStack) -> tuple[dict[str, int], list[bytes]]:
    """Start everything; return the ports of the two proxies, and a request of each of 1,000 users."""
    site = prepared_site(folder / "home", GEOIP_DATABASE=str(traffic.geo_database(folder / "country.mmdb")))
    lines = run_child(site.environment, "-m", "bench.filled", *_SIZE).splitlines()
    limit, _ = stack.enter_context(plain_nginx(folder / "limit"))
    gate, _ = stack.enter_context(data_plane(DATA_PLANE, site.environment))
    until_compiled(gate)
    asked = {_LIMIT: limit, _GATE: gate}
    ports = {
        name: stack.enter_context(protecting_nginx(folder / f"proxy-{port}", port, limit))[0]
        for name, port in asked.items()
    }
    return ports, [visitor_request(line.split()[0]) for line in lines]


def _round(ports: dict[str, int], requests: list[bytes], options: argparse.Namespace, number: int) -> dict[str, Any]:
    asked = (requests * (options.requests // len(requests) + 1))[: options.requests]
    began = time.perf_counter()
    sent = send_each(ports[_GATE], asked)
    capacity = sent.requests / (time.perf_counter() - began)
    if set(sent.statuses) != {200}:
        raise SystemExit(f"{_GATE} answered {sent.statuses}")
    took: dict[str, Any] = {"rate": capacity * _SHARE}
    for name in sorted(ports, reverse=bool(number % 2)):
        seconds = latencies(ports[name], requests, rate=took["rate"], until=_after(options.seconds))
        took[name] = {words: percentile(seconds, share) * 1000 for words, share in _SHARES.items()}
    return took


def _after(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def summary(rounds: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    """Return the rate, and medians and spreads of the milliseconds and of their ratios within each round."""
    rows = []
    for words in _SHARES:
        row: dict[str, Any] = {"name": words}
        for name in (_LIMIT, _GATE):
            row[name] = report.spread([each[name][words] for each in rounds])
        row["ratio"] = report.spread([each[_GATE][words] / each[_LIMIT][words] for each in rounds])
        rows.append(row)
    rates = report.spread([each["rate"] for each in rounds])
    return {**report.circumstances(), "rounds": len(rounds), "seconds": seconds, "rate": rates, "rows": rows}


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    rate = result["rate"]
    head = (
        f"{result['rounds']} interleaved rounds of {result['seconds']:.0f} s, {rate['median']:.0f} requests a second "
        f"({rate['least']:.0f} to {rate['most']:.0f}), {report.machine(result)}."
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
    return "\n".join(lines)


if __name__ == "__main__":
    main()
