"""Attacks in bodies, in every form in which the parser of Django, PHP, Express or Jackson still sees them."""

import json
from collections import Counter

import django
import pytest

from gatewall.engine.waf.judge import Judge
from tests.corpora.evasions.__main__ import RECORDED
from tests.corpora.evasions.judges import django_sees
from tests.corpora.evasions.table import PAYLOADS, SITES, rows
from tests.unit.body_requests import request

JUDGE = Judge(None)
ROWS = list(rows())
FOUND = json.loads(RECORDED.read_text())


@pytest.fixture(scope="module")
def seen():
    """Return whether the site sees the payload, for every row: Django's parser runs here, others are recorded."""
    return FOUND["seen"] | django_sees([row for row in ROWS if row.site == "Django"])


def test_every_row_has_its_judge(seen):
    assert {row.name for row in ROWS} == set(seen)
    assert len(ROWS) == len(seen)
    assert FOUND["versions"].keys() == {"PHP", "node", "qs", "busboy", "Jackson"}
    assert django_sees([]).versions == {"Django": django.__version__}


def test_sites_see_the_payload_in_hundreds_of_forms(seen):
    by_site = Counter(row.site for row in ROWS if seen[row.name])

    assert by_site.keys() == SITES.keys()
    assert by_site.total() > 1_000
    assert min(by_site.values()) > 100
    assert {row.payload for row in ROWS if seen[row.name]} == set(PAYLOADS.values())


def test_what_a_site_sees_is_refused(seen):
    missed = [row.name for row in ROWS if seen[row.name] and not JUDGE.refusing(request(row.body, row.kind))]

    assert missed == []


def test_same_forms_of_a_harmless_text_are_refused_only_if_no_client_sends_them():
    makes = {(site, name): make for site, forms in SITES.items() for name, make in forms.items()}
    refused = {
        name
        for (_, name), make in makes.items()
        for kind, body in [make("Meet me at noon")]
        if JUDGE.refusing(request(body, kind))
    }

    assert refused == {
        "a name with a NUL", "a control character", "charset utf-16", "a comma behind the boundary",
    }  # fmt: skip
