"""Grants that the page of a decision offers: for the refused path, or for the whole domain."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import services as accounts
from policies import services
from policies.access_rules.services import create_access_rule
from policies.models import Grant
from tests.console.test_explain_pages import offered, receipt
from tests.support.cast import OFFICE
from tests.support.proxies import a_license, a_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def outside(bob, office):
    """Return the session header of Bob, who may enter no domain."""
    accounts.change_user(bob, actor="alice", all_domains=False)
    return {"service_authorization": a_token(bob)}


def refused(visits, outside, uri="/photos/7?x=1"):
    return visits(x_forwarded_host=OFFICE, x_forwarded_uri=uri, **outside)


def test_the_narrowest_grant_is_for_exactly_this_path(pages, visits, auth, outside):
    decision_id = refused(visits, outside)
    assert "A grant for the user Bob , at office.example , path /photos/7 and what is below it" in receipt(
        pages, decision_id
    )

    narrow, wide = offered(pages, decision_id)
    assert pages.submit(f"/explain/{decision_id}/", offer=narrow, lifetime="eight-hours").status_code == 302

    grant = Grant.objects.get()
    assert (grant.user.username, grant.domain.name, grant.path_prefix) == ("Bob", OFFICE, "/photos/7")
    assert str(grant.decision_id) == decision_id
    assert timedelta(hours=7) < grant.expires_at - timezone.now() <= timedelta(hours=8)
    asked = {"x_forwarded_host": OFFICE, **outside}
    assert auth(x_forwarded_uri="/photos/7", **asked).verdict == (200, "grant-valid")
    assert auth(x_forwarded_uri="/photos", **asked).verdict == (403, "host-not-in-scope")

    assert pages.submit(f"/explain/{decision_id}/", offer=wide, lifetime="week").status_code == 409  # it passes today


def test_a_grant_for_the_whole_domain_is_offered_too(pages, visits, auth, outside):
    decision_id = refused(visits, outside)

    assert pages.submit(f"/explain/{decision_id}/", offer=offered(pages, decision_id)[1], lifetime="hour").status_code
    assert auth(x_forwarded_host=OFFICE, **outside).verdict == (200, "grant-valid")


@pytest.mark.parametrize("uri", ["/", "/a%2fb", "/token/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"])
def test_a_path_that_no_prefix_can_match_is_not_offered(pages, visits, outside, uri):
    words = receipt(pages, refused(visits, outside, uri))

    assert "eyJ" not in words.partition("Let this through")[2]
    assert "every path" in words


def test_a_grant_always_ends(pages, visits, outside):
    decision_id = refused(visits, outside)

    for lifetime in ("endless", "year"):
        refusal = pages.submit(f"/explain/{decision_id}/", offer=offered(pages, decision_id)[0], lifetime=lifetime)
        assert refusal.status_code in {400, 409}
    assert not Grant.objects.exists()


def test_no_grant_is_offered_that_would_be_overruled(pages, visits, outside, office, bob):
    decision_id = refused(visits, outside)
    services.change_domain(office, actor="alice", access="denied")
    assert offered(pages, decision_id) == []

    services.change_domain(office, actor="alice", access="authenticated")
    accounts.delete_user(bob, actor="alice")
    assert offered(pages, decision_id) == []


@pytest.mark.parametrize(("conditions", "number"), [({"credential_kinds": ["session"]}, 1), ({}, 0)])
def test_grants_are_offered_only_against_rules_about_users(pages, visits, bob, office, conditions, number):
    create_access_rule(actor="alice", name="closed", access="denied", **conditions)
    decision_id = visits(x_forwarded_host=OFFICE, service_authorization=a_token(bob))

    assert len(offered(pages, decision_id)) == number


def test_licenses_get_no_grant_offer(pages, visits, office):
    decision_id = visits(x_forwarded_host=OFFICE, service_license=a_license(all_domains=False))

    assert offered(pages, decision_id) == []
