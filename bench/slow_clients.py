"""Sign-in latency beside slow clients: ``python -m bench.slow_clients [--rounds N] [--seconds N] [--write]``.

Each round signs in on the control plane as shipped in an open loop, once alone and once beside slow clients: a third
sends a form's body by a byte every three seconds, a third a request head, a third reads a large file by 1 KiB every
three seconds. Closed connections are replaced. Quote the ratios within a round.
"""

import argparse
import selectors
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import report
from bench.open_loop import latencies, percentile
from bench.servers import control_plane
from bench.site import prepared_site, run_child

_SHARES = {"p50": 0.5, "p99": 0.99}
_ALONE, _BESIDE = "alone", "beside slow clients"
_PAUSE_SECONDS = 3.0
_HEAD = b"POST /wall/ HTTP/1.1\r\nHost: gatewall\r\nContent-Type: application/x-www-form-urlencoded\r\n"
_SLOW_BODY = _HEAD + b"Content-Length: 500\r\n\r\nusername="
_LARGE_FILE = (
    b"GET /wall/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js HTTP/1.1\r\nHost: gatewall\r\n\r\n"
)
_KINDS = (_SLOW_BODY, _HEAD, _LARGE_FILE)
_SETTINGS = """
import django; django.setup()
from gatewall.policy import system_settings
system_settings.change(actor="bench", api_requests_per_minute=100_000)
"""


def main() -> None:
    """Measure, print, and with --write update docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each open loop")
    parser.add_argument("--rate", type=float, default=5.0, help="sign-ins a second")
    parser.add_argument("--slow", type=int, default=64, help="slow clients")
    report.add_outputs(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = prepared_site(Path(folder) / "home")
        run_child(site.environment, "-c", _SETTINGS)
        with control_plane(site.environment) as port:
            _signed_in(port, options.rate, 3.0)  # every worker has finished its imports
            rounds = [_round(port, options, number) for number in range(options.rounds)]
    result = summary(rounds, options)
    report.deliver("slow_clients", result, as_text(result), options)


def _round(port: int, options: argparse.Namespace, number: int) -> dict[str, dict[str, float]]:
    took = {}
    for name in sorted((_ALONE, _BESIDE), reverse=bool(number % 2)):
        with slow_clients(port, options.slow if name == _BESIDE else 0):
            seconds = _signed_in(port, options.rate, options.seconds)
        took[name] = {words: percentile(seconds, share) * 1000 for words, share in _SHARES.items()}
    return took


def _signed_in(port: int, rate: float, seconds: float) -> list[float]:
    body = b'{"username": "bench", "password": "bench bench bench"}'
    head = (
        f"POST /wall/login HTTP/1.1\r\nHost: gatewall\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    end = time.monotonic() + seconds
    return latencies(port, [f"{head}\r\n\r\n".encode() + body], rate=rate, until=lambda: time.monotonic() > end)


@contextmanager
def slow_clients(port: int, number: int) -> Iterator[None]:
    """Run this many slow clients during the block."""
    ends = threading.Event()
    crowd = threading.Thread(target=_dawdle, args=(port, number, ends))
    crowd.start()
    time.sleep(1.0 if number else 0.0)
    try:
        yield
    finally:
        ends.set()
        crowd.join()


def _dawdle(port: int, number: int, ends: threading.Event) -> None:
    clients = [_begun(port, each) for each in range(number)]
    while not ends.wait(_PAUSE_SECONDS):
        for at, client in enumerate(clients):
            if not _goes_on(client, reads=_KINDS[at % len(_KINDS)] is _LARGE_FILE):
                client.close()
                clients[at] = _begun(port, at)
    for client in clients:
        client.close()


def _begun(port: int, number: int) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    client.sendall(_KINDS[number % len(_KINDS)])
    return client


def _goes_on(client: socket.socket, *, reads: bool) -> bool:
    """Send or read a little more; return False if the server has closed."""
    try:
        if reads:
            return bool(client.recv(1024, socket.MSG_DONTWAIT))
        client.send(b"x", socket.MSG_DONTWAIT)
        with selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ)
            return not selector.select(0)  # a response ends it
    except BlockingIOError:
        return True
    except OSError:
        return False


def summary(rounds: list[dict[str, dict[str, float]]], options: argparse.Namespace) -> dict[str, Any]:
    """Return medians and spreads of the milliseconds and of their ratios within each round."""
    rows = []
    for words in _SHARES:
        row: dict[str, Any] = {"name": words}
        for name in (_ALONE, _BESIDE):
            row[name] = report.spread([each[name][words] for each in rounds])
        row["ratio"] = report.spread([each[_BESIDE][words] / each[_ALONE][words] for each in rounds])
        rows.append(row)
    asked = {"seconds": options.seconds, "rate": options.rate, "slow": options.slow}
    return {**report.circumstances(), "rounds": len(rounds), **asked, "rows": rows}


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    head = (
        f"{result['rounds']} interleaved rounds of {result['seconds']:.0f} s, {result['rate']:.0f} sign-ins a second, "
        f"{result['slow']} slow clients, {report.machine(result)}."
    )
    lines = [
        head,
        "",
        "| Milliseconds to sign in | Alone (least to most) | Beside slow clients | Ratio within a round |",
        "|---|---|---|---|",
    ]
    for row in result["rows"]:
        cells = [
            f"{each['median']:.1f} ({each['least']:.1f} to {each['most']:.1f})" for each in (row[_ALONE], row[_BESIDE])
        ]
        ratio = row["ratio"]
        lines.append(
            f"| {row['name']} | {' | '.join(cells)} "
            f"| {ratio['median']:.2f} ({ratio['least']:.2f} to {ratio['most']:.2f}) |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
