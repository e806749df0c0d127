"""Attacks in bodies with every framing, through proxies that send bodies to the gate; sites' servers are the judges."""

import json
import sys
from urllib.parse import parse_qs, urlencode

import pytest

from gatewall.install.ports import free_port
from tests.corpora.evasions.framing import FRAMES, USUAL
from tests.corpora.evasions.table import PAYLOADS
from tests.proxies.every.asking import lines_of, raw
from tests.proxies.every.kinds import SHOWS_BODIES
from tests.support.processes import is_listening, running, wait_until

SITE = "tests.corpora.evasions.framed_site:application"
SERVERS = {
    "gunicorn": ["gunicorn", SITE, "--bind", "127.0.0.1:{}"],
    "uvicorn with h11": ["uvicorn", SITE, "--interface", "wsgi", "--http", "h11", "--port", "{}"],
    "uvicorn with httptools": ["uvicorn", SITE, "--interface", "wsgi", "--http", "httptools", "--port", "{}"],
}
WAITS = "line feeds between chunks"
"""The framing after which gunicorn and h11 wait for more."""
ATTACKS = [PAYLOADS["condition"], PAYLOADS["script"]]
HARMLESS = "Meet me at noon"


def ask(port, frame, payload, **headers):
    lines, wire = frame(urlencode({"b": "x", "a": payload}).encode())
    return raw(port, b"POST /form HTTP/1.1", [*lines_of(port, headers), *lines], wire)


@pytest.fixture(scope="module")
def seen(tmp_path_factory, until_folder_ends):
    """Return the framings in which a site's server passes an attack on to Django, with these servers."""
    found = {}
    for server, command in SERVERS.items():
        port, log = free_port(), tmp_path_factory.mktemp("site") / "log"
        words = [each.format(port) for each in command]
        until_folder_ends.enter_context(running([sys.executable, "-m", *words], log=log))
        wait_until(lambda at=port: is_listening(at), what=server)
        for name, frame in FRAMES.items():
            if name == WAITS:
                continue
            answer = ask(port, frame, ATTACKS[0])
            if answer.status == 200 and ATTACKS[0] in json.loads(answer.body).get("a", []):
                found.setdefault(name, []).append(server)
    return found


@pytest.mark.parametrize("kind", sorted(SHOWS_BODIES))
def test_attack_does_not_arrive_however_its_body_is_framed(wall, cookie, kind, seen):
    front = wall[kind]
    assert set(seen) >= set(USUAL)
    assert len(seen) >= len(FRAMES) // 2
    assert ask(front.port, USUAL["a length"], HARMLESS, Cookie=cookie).status == 200
    before = len(front.site.bodies)

    statuses = {
        (name, attack): ask(front.port, frame, attack, Cookie=cookie).status
        for name, frame in FRAMES.items()
        for attack in ATTACKS
    }

    arrived = [parse_qs(body.decode("latin-1")).get("a") for body in front.site.bodies[before:]]
    assert not [each for each in arrived if each and each[0] in ATTACKS]
    assert [key for key, status in statuses.items() if status // 100 == 2] == []
    assert {statuses[name, attack] for name in USUAL for attack in ATTACKS} == {403}


@pytest.mark.parametrize("kind", sorted(SHOWS_BODIES))
def test_harmless_body_arrives_in_usual_framings(wall, cookie, kind):
    front = wall[kind]

    assert {name: ask(front.port, USUAL[name], HARMLESS, Cookie=cookie).status for name in USUAL} == dict.fromkeys(
        USUAL, 200
    )
    assert parse_qs(front.site.bodies[-1].decode())["a"] == [HARMLESS]
