"""Attacks in bodies, in every form in which the parser of a site still sees them."""

import json
from collections import Counter
from dataclasses import replace

import django
import pytest

from gatewall.engine.waf.judge import COMPILED_NOW, Judge
from gatewall.engine.waf.reading import MAX_BODY
from gatewall.gate import bodies
from tests.corpora.evasions.__main__ import RECORDED
from tests.corpora.evasions.judges import django_sees, seen_here
from tests.corpora.evasions.table import FORMS, JSONS, MULTIPARTS, PAYLOADS, SITES, rows
from tests.unit.body_requests import request

JUDGE = Judge(COMPILED_NOW)
ROWS = list(rows())
FOUND = json.loads(RECORDED.read_text())
REASONS = (
    "traversal-nul-byte", "protocol-header-injection", "protocol-too-long", "injection-xml-entity", "xss-constructor",
    "injection-php-variable",
)  # fmt: skip


def sent(kind, body, coding=""):
    """Return the request as the data plane reads it: unpacked, within the bound."""
    unpacked = bodies.unpacked(bodies.Body(body[:MAX_BODY], len(body) <= MAX_BODY), coding)
    headers = [(b"content-encoding", coding.encode())] if coding else []
    return replace(request(unpacked.data, kind, headers=headers), body_is_whole=unpacked.whole)


@pytest.fixture(scope="module")
def seen():
    """Return whether the site sees the payload, for every row: Python's parsers run here, others are recorded."""
    return FOUND["seen"] | seen_here(ROWS)


def test_every_row_has_its_judge(seen):
    assert {row.name for row in ROWS} == set(seen)
    assert len(ROWS) == len(seen)
    assert FOUND["versions"].keys() == {"PHP", "libxml2", "node", "qs", "busboy", "body-parser", "Jackson"}
    assert django_sees([]).versions == {"Django": django.__version__}


def test_sites_see_the_payload_in_hundreds_of_forms(seen):
    by_site = Counter(row.site for row in ROWS if seen[row.name])

    assert by_site.keys() == SITES.keys()
    assert by_site.total() > 3_000
    assert min(by_site[site] for site in SITES.keys() - {"Django REST"}) > 100
    assert len({form_of(row) for row in ROWS if seen[row.name]}) > 500
    assert {row.payload for row in ROWS if seen[row.name]} == set(PAYLOADS.values())


def form_of(row):
    return row.name.partition(", ")[2].rpartition(": ")[0]


@pytest.mark.no_cover
def test_payloads_that_a_site_sees_are_refused(seen):
    attacks = [row for row in ROWS if seen[row.name]]
    missed = [row.name for row in attacks if not JUDGE.refusing(sent(row.kind, row.body, row.coding))]

    assert missed == []


def test_same_forms_of_a_harmless_text_are_refused_only_if_no_client_sends_them():
    """Of 637 forms: with NULs, part heads outside of parts, bodies that cannot be unpacked, entities, prototypes."""
    refused = {}
    for site, forms in SITES.items():
        for name, make in forms.items():
            rules = {rule.name for rule in JUDGE.refusing(sent(*make("Meet me at noon")))}
            reason = next((each for each in REASONS if each in rules), rules and f"{site}, {name}: {rules}")
            refused |= {name: reason} if reason else {}

    assert set(refused.values()) == set(REASONS)
    assert len(refused) < 90
    assert refused.keys() & {**FORMS, **MULTIPARTS, **JSONS}.keys() == {
        "a name with a NUL", "a control character", "a comma behind the boundary",
    }  # fmt: skip
