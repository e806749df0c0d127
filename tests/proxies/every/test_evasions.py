"""The table of attacks in bodies through the proxies that pass bodies on: what a site would see does not arrive."""

import json

import pytest

from tests.corpora.evasions.__main__ import RECORDED
from tests.corpora.evasions.judges import django_sees
from tests.corpora.evasions.table import rows
from tests.proxies.every.asking import lines_of, raw
from tests.proxies.every.kinds import SHOWS_BODIES

pytestmark = pytest.mark.full


@pytest.mark.parametrize("kind", sorted(SHOWS_BODIES))
def test_attack_that_a_site_would_see_does_not_arrive(wall, cookie, kind):
    front, table = wall[kind], list(rows())
    seen = json.loads(RECORDED.read_text())["seen"] | django_sees([row for row in table if row.site == "Django"])
    attacks = [row for row in table if seen[row.name]]

    def status(media_type, body):
        headers = {"Cookie": cookie, "Content-Type": media_type, "Content-Length": str(len(body))}
        return raw(front.port, b"POST /form HTTP/1.1", lines_of(front.port, headers), body).status

    assert status("application/x-www-form-urlencoded", b"a=Meet+me+at+noon") == 200
    before = len(front.site.requests)
    statuses = {row.name: status(row.kind, row.body) for row in attacks}

    assert {name: found for name, found in statuses.items() if found != 403} == {}
    assert len(front.site.requests) == before
    assert len(attacks) > 1_000
