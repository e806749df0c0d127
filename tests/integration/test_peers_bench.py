"""bench.peers: its table, and a run with the peers that can be had here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import peers, visits, wanted

BASE = Path(__file__).resolve().parents[2]
ROUNDS = [
    {"nginx return 200": 10.0, "vouch-proxy, page load": 30.0, "Gatewall, page load": 120.0},
    {"nginx return 200": 20.0, "vouch-proxy, page load": 40.0, "Gatewall, page load": 120.0},
]


def test_multiples_are_taken_within_a_round_and_what_was_left_out_is_said():
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


def test_requests_of_a_crowd_have_nothing_in_common_and_those_of_a_page_load_nearly_all():
    ask = visits.subrequest("/wall/auth")
    varying = ("Cookie", "Referer", "User-Agent", "X-Forwarded-For", "X-Forwarded-Uri")

    crowd = [fields(request) for request in visits.crowd(ask, ["a=1", "a=2", "a=3"])]
    loads = visits.page_loads(ask, "a=1")
    page = [fields(next(loads)) for _ in range(62)]

    assert all(len({each[name] for each in crowd}) == 3 for name in varying)
    assert all(len({each[name] for each in page}) == 1 for name in varying if name != "X-Forwarded-Uri")
    assert len({each["X-Forwarded-Uri"] for each in page}) == 62


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
