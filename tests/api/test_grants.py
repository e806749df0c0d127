"""Grants over the API: what one opens, for how long, and what stands above it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import services as accounts
from gatewall.models import PolicyRevision
from policies import services
from policies.grant_limits import MAX_GRANTS
from policies.grants import services as grants
from policies.models import AuthorizedDomain, Grant
from tests.support.cast import OFFICE
from tests.support.moments import in_hours

pytestmark = pytest.mark.django_db


@pytest.fixture
def office(admin):
    return services.register_domain(actor="alice", name=OFFICE, access="authenticated")


@pytest.fixture
def narrow(bob, office, a_session_of):
    """Return a function that asks the gate as Bob, who may enter no domain."""
    accounts.change_user(bob, actor="alice", all_domains=False)
    return a_session_of(bob)


@pytest.fixture
def a_session_of(auth, wall):
    def make(user):
        token = wall.a_token(user)
        return lambda uri="/": auth(service_authorization=token, x_forwarded_host=OFFICE, x_forwarded_uri=uri).verdict

    return make


def body(**values):
    return {"user": "bob", "domain": OFFICE, "expires_at": in_hours(1), **values}


def code(response):
    return response.status_code, response.json()["code"]


def test_it_opens_a_path_at_once_and_its_deletion_closes_it(admin, narrow):
    assert narrow("/photos/7") == (403, "host-not-in-scope")

    made = admin.post("/grants", body(path_prefix="/photos", reason="the wedding"))

    assert made.status_code == 201
    assert (made.json()["user"], made.json()["domain"], made.json()["created_by"]) == ("Bob", OFFICE, "alice")
    assert narrow("/photos/7") == (200, "grant-valid")
    assert narrow("/") == (403, "host-not-in-scope")

    assert admin.delete(f"/grants/{made.json()['id']}").status_code == 204
    assert narrow("/photos/7") == (403, "host-not-in-scope")


def test_a_change_of_it_counts_at_once(admin, narrow):
    grant = admin.post("/grants", body(path_prefix="/photos")).json()["id"]

    changed = admin.put(f"/grants/{grant}", {"path_prefix": None, "methods": ["get"]})

    assert (changed.status_code, changed.json()["methods"]) == (200, ["GET"])
    assert narrow("/") == (200, "grant-valid")


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"expires_at": None}, "expires_at"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": in_hours(24 * 31)}, "expires_at"),
        ({"user": "nobody"}, "user"),
        ({"domain": "unknown.example"}, "domain"),
        ({"path_prefix": "photos"}, "path_prefix"),
        ({"path_prefix": "/a/../b"}, "path_prefix"),
        ({"methods": ["G T"]}, "methods"),
        ({"decision_id": "7"}, "decision_id"),
    ],
)
def test_a_grant_that_is_none_is_refused(admin, bob, office, sent, field):
    refused = admin.post("/grants", body(**sent))

    assert refused.status_code == 400
    assert [error["field"].partition(".")[0] for error in refused.json()["errors"]] == [field]
    assert not Grant.objects.exists()


def test_over_a_denied_domain_it_is_refused_and_says_what_stands_above(admin, bob, office):
    services.change_domain(office, actor="alice", access="denied")

    refused = admin.post("/grants", body())

    assert code(refused) == (409, "grant-overruled")
    assert f"{OFFICE} has the access denied, which stands above every grant" in refused.json()["detail"]


def test_the_maximum_is_refused_unless_one_has_ended(admin, bob, office):
    ends = timezone.now() + timedelta(hours=1)
    Grant.objects.bulk_create(Grant(user=bob, domain=office, expires_at=ends) for _ in range(MAX_GRANTS))

    refused = admin.post("/grants", body())
    assert code(refused) == (409, "too-many-grants")
    assert "1,000" in refused.json()["detail"]

    Grant.objects.filter(pk=Grant.objects.first().pk).update(expires_at=timezone.now())
    assert admin.post("/grants", body()).status_code == 201
    assert Grant.objects.count() == MAX_GRANTS


def test_it_goes_with_its_user_and_domain_and_the_revision_says_so(admin, bob, office):
    admin.post("/grants", body())
    services.remove_domain(AuthorizedDomain.objects.get(), actor="alice", force=True)
    assert "grants" in PolicyRevision.objects.latest("number").resources

    services.register_domain(actor="alice", name=OFFICE, access="authenticated")
    admin.post("/grants", body())
    accounts.delete_user(bob, actor="alice")
    assert "grants" in PolicyRevision.objects.latest("number").resources
    assert not Grant.objects.exists()


def test_a_restore_brings_it_back_but_not_that_of_a_deleted_user(admin, charlie, narrow):
    admin.post("/grants", body())
    admin.post("/grants", body(user="charlie"))
    number = PolicyRevision.objects.latest("number").number
    for grant in Grant.objects.all():
        admin.delete(f"/grants/{grant.pk}")
    accounts.delete_user(charlie, actor="alice")

    assert admin.post(f"/policy/revisions/{number}/restore").status_code == 200

    assert [grant.user.username for grant in Grant.objects.all()] == ["Bob"]
    assert narrow() == (200, "grant-valid")


def test_a_user_that_was_deleted_meanwhile_is_refused(admin, bob, office):
    accounts.delete_user(type(bob).objects.get(pk=bob.pk), actor="alice")

    with pytest.raises(grants.UserRemoved):
        grants.create_grant(actor="alice", user=bob, domain=office, expires_at=timezone.now() + timedelta(hours=1))


def test_plans_and_backtests_take_one(admin, bob, office):
    window = {"start_time": in_hours(-1), "end_time": in_hours(0)}
    proposal = {"resource": "grants", "change": "create", "values": body(), **window}

    assert admin.post("/policy/backtest", proposal).status_code in {200, 201, 202}
    assert not Grant.objects.exists()


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ({"user": "BOB"}, 1),
        ({"user": "alice"}, 0),
        ({"domain": OFFICE}, 1),
        ({"path_prefix": "/photos"}, 1),
        ({"expires_at_after": "2090-01-01T00:00:00Z"}, 0),
        ({"search": "wedding"}, 1),
        ({"decision_id": "019cebab-8748-7000-8000-000000000000"}, 0),
    ],
)
def test_filters_find_it(admin, bob, office, query, number):
    admin.post("/grants", body(path_prefix="/photos", reason="the wedding"))

    assert admin.get("/grants", query).json()["count"] == number
