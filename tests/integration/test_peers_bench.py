"""bench.peers: its table, and a run with the peers available here."""

import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from bench import load, peer_servers, peers, visits, wanted

BASE = Path(__file__).resolve().parents[2]
ROUNDS = [
    {"nginx return 200": 10.0, "vouch-proxy, page load": 30.0, "Gatewall, page load": 120.0},
    {"nginx return 200": 20.0, "vouch-proxy, page load": 40.0, "Gatewall, page load": 120.0},
]


def test_ratios_are_taken_within_a_round_and_left_out_peers_are_listed():
    result = peers.summary(ROUNDS, 62, {"coraza": "no Go"})
    text = peers.as_text(result)

    assert result["rows"][2]["times_nginx"] == {"median": 9.0, "least": 6.0, "most": 12.0}
    assert "| Gatewall, page load | 120 (120 to 120) | 9.0 | 3.50 (3.00 to 4.00) of vouch-proxy, page load |" in text
    assert "Left out: coraza (no Go)." in text
    assert "coraza v" not in text
    assert [(row.wanted, row.reached) for row in wanted.rows("peers", result)] == [("<= 1.0", False)]


def test_the_page_shows_what_was_measured():
    result = json.loads((BASE / "bench" / "results" / "peers.json").read_text())

    table = f"<!-- bench.peers -->\n{peers.as_text(result)}\n<!-- /bench.peers -->"
    assert table in (BASE / "docs" / "performance.md").read_text()


def test_crowd_requests_differ_in_every_header_and_page_load_requests_only_in_the_uri():
    ask = visits.subrequest("/wall/auth")
    varying = ("Cookie", "Referer", "User-Agent", "X-Forwarded-For", "X-Forwarded-Uri")

    crowd = [fields(request) for request in visits.crowd(ask, ["a=1", "a=2", "a=3"])]
    loads = visits.page_loads(ask, "a=1")
    fresh, page = ([fields(next(loads)) for _ in range(62)] for _ in range(2))

    assert all(len({each[name] for each in crowd}) == 3 for name in varying)
    assert all(len({each[name] for each in page}) == 1 for name in varying if name != "X-Forwarded-Uri")
    assert len({each["X-Forwarded-Uri"] for each in page}) == 62
    assert [len({each.get("If-None-Match") for each in parts}) for parts in (page, fresh)] == [62, 1]


@pytest.mark.parametrize("peer", peer_servers.PEERS, ids=lambda peer: peer.name)
def test_a_peer_logs_into_a_file_as_it_does_by_default(peer, tmp_path, monkeypatch):
    started = {}
    monkeypatch.setattr(
        peer_servers, "running", lambda command, *_, **options: started.update(options, command=command)
    )
    with suppress(TypeError, AttributeError), peer_servers.serve(peer, Path("binary"), tmp_path / "peer"):
        pass

    configuration = (tmp_path / "peer" / "config" / "config.yml") if peer is peer_servers.VOUCH else None
    told = " ".join(started["command"]) + (configuration.read_text() if configuration else "")
    assert started["log"] == tmp_path / "peer" / "log.txt"
    assert "loglevel" not in told.lower()
    assert "-logging" not in told


def test_a_product_that_lets_everybody_in_is_not_measured(monkeypatch):
    monkeypatch.setattr(peers, "status", lambda *_: 200)
    ask = visits.subrequest("/")

    peers.check_refusal(peers.Product("coraza", 1, 1, "/", list), ask)
    with pytest.raises(SystemExit, match="answered 200 to a visitor without a session"):
        peers.check_refusal(peers.Product("vouch-proxy", 1, 1, "/", list), ask)


def test_the_client_counts_answers_of_any_length():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=answer_in_pieces, args=(listening,))
        thread.start()
        sent = load.send_each(listening.getsockname()[1], [b"GET / HTTP/1.1\r\n\r\n"] * 3, connections=1)
        thread.join()

    assert sent == load.Sent(3, {200: 2, 403: 1})


def answer_in_pieces(listening):
    line, _ = listening.accept()
    with line:
        for status, length in ((200, 0), (403, 70_000), (200, 5)):
            line.recv(1000)
            line.sendall(b"HTTP/1.1 %d X\r\ncontent-len" % status)
            line.sendall(b"gth: %d\r\n\r\n" % length + b"a" * length)


def fields(request):
    return dict(line.split(": ", 1) for line in request.decode().split("\r\n")[1:-2])


@pytest.mark.full
def test_without_go_gatewall_is_measured_alone(tmp_path):
    command = [sys.executable, "-m", "bench.peers", "--rounds", "1", "--requests", "62"]
    run = subprocess.run(
        [*command, "--binaries", str(tmp_path), "--json", str(tmp_path / "figures.json")],
        cwd=BASE,
        env={**os.environ, "PATH": str(Path(sys.executable).parent)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "Left out: vouch-proxy (there is no Go on this machine)." in run.stdout
    names = [row["name"] for row in json.loads((tmp_path / "figures.json").read_text())["rows"]]
    assert "behind nginx: Gatewall, page load" in names
    assert not any("oauth2" in name for name in names)
