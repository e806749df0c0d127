"""Attacks in bodies, through the proxies that send bodies to the gate: no attack visible to a site arrives."""

import json

import pytest

from tests.corpora.evasions.__main__ import RECORDED
from tests.corpora.evasions.judges import seen_here
from tests.corpora.evasions.table import rows
from tests.proxies.every.asking import lines_of, raw
from tests.proxies.every.kinds import SHOWS_BODIES

pytestmark = pytest.mark.full


@pytest.mark.parametrize("kind", sorted(SHOWS_BODIES))
def test_attack_that_a_site_would_see_does_not_arrive(wall, cookie, kind):
    front, table = wall[kind], list(rows())
    seen = json.loads(RECORDED.read_text())["seen"] | seen_here(table)
    attacks = [row for row in table if seen[row.name]]

    def status(media_type, body, coding=""):
        packed = {"Content-Encoding": coding} if coding else {}
        headers = {"Cookie": cookie, "Content-Type": media_type, "Content-Length": str(len(body)), **packed}
        return raw(front.port, b"POST /form HTTP/1.1", lines_of(front.port, headers), body).status

    assert status("application/x-www-form-urlencoded", b"a=Meet+me+at+noon") == 200
    before = len(front.site.requests)
    statuses = {row.name: status(row.kind, row.body, row.coding) for row in attacks}

    assert {name: found for name, found in statuses.items() if found != 403} == {}
    assert len(front.site.requests) == before
    assert len(attacks) > 3_000
