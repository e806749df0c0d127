"""Access rules on the page that explains a request."""

import pytest

from policies import services
from policies.access_rules import services as rules
from tests.support.cast import CLIENT, OFFICE

pytestmark = pytest.mark.django_db
VISIT = {"client_ip": CLIENT, "host": OFFICE, "method": "GET", "uri": "/admin/x", "scheme": "https"}


def test_page_shows_the_deciding_rule_and_why_the_other_did_not_match(pages):
    services.register_domain(actor="", name=OFFICE, access="authenticated", seed=True)
    rules.create_access_rule(
        actor="alice", name="hooks", access="public", paths=[{"match": "prefix", "value": "/hook"}]
    )
    rules.create_access_rule(actor="alice", name="no admin", access="denied")

    page = pages.submit("/explain/", **VISIT).content.decode()

    assert "Access needed: denied" in page
    assert "it is for other paths" in page
    assert "by an access rule" in page


def test_page_explains_that_the_strictest_reading_counts(pages):
    services.register_domain(actor="", name=OFFICE, access="authenticated", seed=True)
    rules.create_access_rule(actor="alice", name="no admin", access="denied", paths=[{"match": "exact", "value": "/a"}])

    several, one = (pages.submit("/explain/", **VISIT | {"uri": uri}).content.decode() for uri in ("/x//a;b", "/a"))

    assert "The strictest access of all readings counts." in several
    assert "The strictest access of all readings counts." not in one


def test_page_of_a_host_without_rules_omits_them(pages):
    assert "Access needed" not in pages.submit("/explain/", **VISIT).content.decode()
