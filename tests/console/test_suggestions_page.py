"""The page that suggests access rules: its content, and the rules that it adds."""

import re
from urllib.parse import urlencode

import pytest

from policies import services
from policies.models import AccessRule
from tests.console.conftest import ago

PAGE = "/suggested-rules/"
APP = "Jellyfin-Android/2.6"
PATHS = ["/System/Info", "/Items/0c1f5e1f0b7c4a9f8f0d7f6f5e4d3c2b", "/Sessions"] * 5


@pytest.fixture
def refused(noon, log, office):
    common = {"host": "office.example", "reason": "credential-missing", "outcome": "challenge", "status": 401}
    log(
        *(ago(number, path=path, user_agent=APP, **common) for number, path in enumerate(PATHS)),
        ago(100, path="/Sessions", user_agent="Mozilla/5.0", **common),
    )


def ask(pages, **query):
    return pages.get(f"{PAGE}?{urlencode(query)}")


def shown(pages):
    return pages.words(ask(pages, domain="office.example"))


def digest_in(page):
    return re.search(r'name="rules" value="([0-9a-f]{64})"', page)[1]


def test_suggestions_show_their_evidence_and_further_matching_requests(refused, pages):
    page = shown(pages)

    assert "<code>/Items/*</code>, <code>/Sessions</code>, <code>/System/Info</code>" in page
    assert "Requests: 15, from addresses: 1." in page
    assert "browsers, and programs without a name (1)" in page
    assert "Anybody can send requests with this user agent" in page
    assert not AccessRule.objects.exists()


def test_adding_suggestions_writes_the_shown_rules(refused, pages):
    values = {"domain": "office.example", "window": "604800", "rules": digest_in(shown(pages))}
    response = pages.submit(PAGE, **values)

    assert response.status_code == 302
    rule = AccessRule.objects.get()
    assert (rule.name, rule.access, rule.methods) == ("Jellyfin-Android at office.example: GET", "public", ["GET"])
    assert [domain.name for domain in rule.domains.all()] == ["office.example"]
    assert {path["value"] for path in rule.paths} == {"/Items/*", "/Sessions", "/System/Info"}

    again = pages.submit(PAGE, **values)
    assert again.status_code == 409
    assert AccessRule.objects.count() == 1


def test_rules_that_differ_from_the_shown_ones_are_not_written(refused, pages, log):
    digest = digest_in(shown(pages))
    common = {"host": "office.example", "reason": "credential-missing", "outcome": "challenge", "status": 401}
    log(ago(200, path="/admin", user_agent=APP, **common))

    response = pages.submit(PAGE, domain="office.example", window="604800", rules=digest)

    assert response.status_code == 409
    assert "The log has changed" in pages.words(response)
    assert not AccessRule.objects.exists()


def test_invalid_parameters_are_refused(pages, office):
    services.register_domain(actor="", name="empty.example", access="authenticated")
    assert "No program stands out" in pages.words(ask(pages, domain="empty.example"))
    for query in ({"domain": "nowhere.example"}, {"domain": "office.example", "window": "1"}):
        response = ask(pages, **query)
        assert response.status_code == 400
        assert "errornote" in pages.words(response)
    assert pages.submit(PAGE, domain="nowhere.example").status_code == 400
