"""Grants over the API: the access that they give, their end, and what overrides them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import services as accounts
from gatewall.engine.grants import GrantTable
from gatewall.models import PolicyRevision
from gatewall.whatif.as_of import policy_as_of
from policies import policy_source, services
from policies.grant_limits import MAX_GRANTS
from policies.grants import services as grants
from policies.groups.members import GroupRemoved
from policies.groups.services import create_group, delete_group
from policies.history.rollback import take_back
from policies.models import AuthorizedDomain, Grant
from tests.support.cast import OFFICE
from tests.support.moments import in_hours

pytestmark = pytest.mark.django_db


@pytest.fixture
def office(admin):
    return services.register_domain(actor="alice", name=OFFICE, access="authenticated")


@pytest.fixture
def family(bob):
    """Return a group with an empty scope whose only member is Bob."""
    group = create_group(actor="alice", name="family")
    accounts.change_user(bob, actor="alice", groups=[group])
    return group


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


OF_FAMILY = body(user=None, group="family")


def code(response):
    return response.status_code, response.json()["code"]


def test_a_grant_opens_its_path_at_once_until_it_is_deleted(admin, narrow):
    assert narrow("/photos/7") == (403, "host-not-in-scope")

    made = admin.post("/grants", body(path_prefix="/photos", reason="the wedding"))

    assert made.status_code == 201
    assert (made.json()["user"], made.json()["domain"], made.json()["created_by"]) == ("Bob", OFFICE, "alice")
    assert narrow("/photos/7") == (200, "grant-valid")
    assert narrow("/") == (403, "host-not-in-scope")

    assert admin.delete(f"/grants/{made.json()['id']}").status_code == 204
    assert narrow("/photos/7") == (403, "host-not-in-scope")


def test_a_change_of_a_grant_takes_effect_at_once(admin, narrow):
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
        ({"user": None, "group": "nobody"}, "group"),
        ({"domain": "unknown.example"}, "domain"),
        ({"path_prefix": "photos"}, "path_prefix"),
        ({"path_prefix": "/a/../b"}, "path_prefix"),
        ({"methods": ["G T"]}, "methods"),
        ({"decision_id": "7"}, "decision_id"),
    ],
)
def test_an_invalid_grant_is_refused(admin, bob, office, sent, field):
    refused = admin.post("/grants", body(**sent))

    assert refused.status_code == 400
    assert [error["field"].partition(".")[0] for error in refused.json()["errors"]] == [field]
    assert not Grant.objects.exists()


@pytest.mark.parametrize("sent", [{"group": "family"}, {"user": None}, {"user": None, "group": None}])
def test_a_grant_is_for_either_a_user_or_a_group(admin, bob, office, family, sent):
    refused = admin.post("/grants", body(**sent))

    assert refused.status_code == 400
    assert {error["field"] for error in refused.json()["errors"]} == {"user", "group"}
    assert not Grant.objects.exists()


def test_a_group_grant_lets_its_members_in_until_they_leave(admin, bob, charlie, narrow, family, a_session_of):
    accounts.change_user(charlie, actor="alice", all_domains=False, authorized_domains=[])
    made = admin.post("/grants", OF_FAMILY)

    assert made.status_code == 201
    assert (made.json()["user"], made.json()["group"]) == (None, "family")
    assert narrow() == (200, "grant-valid")
    assert a_session_of(charlie)() == (403, "host-not-in-scope")

    accounts.change_user(bob, actor="alice", groups=[])
    assert narrow() == (403, "host-not-in-scope")


def test_the_holder_of_a_grant_can_be_changed_to_a_group_and_back(admin, bob, office, family):
    grant = admin.post("/grants", body()).json()["id"]

    both = admin.put(f"/grants/{grant}", {"group": "family"})
    assert {error["field"] for error in both.json()["errors"]} == {"user", "group"}
    moved = admin.put(f"/grants/{grant}", {"user": None, "group": "family"}).json()
    assert (moved["user"], moved["group"]) == (None, "family")
    unchanged = admin.put(f"/grants/{grant}", moved)
    assert (unchanged.status_code, unchanged.json()["group"]) == (200, "family")
    back = admin.put(f"/grants/{grant}", {"user": "bob", "group": None}).json()
    assert (back["user"], back["group"]) == ("Bob", None)


def test_a_restore_brings_back_a_deleted_group_with_its_grant(admin, office, family):
    admin.post("/grants", OF_FAMILY)
    number = PolicyRevision.objects.latest("number").number
    assert admin.delete(f"/groups/{family.pk}").status_code == 204
    deleted = PolicyRevision.objects.latest("number")
    assert [change["name"] for change in deleted.changes if change["resource"] == "grants"] == [
        f"group family {OFFICE}"
    ]
    assert not Grant.objects.exists()

    before = policy_as_of(number).policy.grants
    assert before.of_user(0, frozenset({family.pk}))
    assert admin.post(f"/policy/revisions/{number}/restore").status_code == 200
    assert [grant.group_id for grant in Grant.objects.all()] == [family.pk]
    assert GrantTable(policy_source.grants()) == before


def test_the_grant_of_a_deleted_group_is_not_restored_alone(admin, office, family):
    grant = admin.post("/grants", OF_FAMILY).json()["id"]
    admin.delete(f"/grants/{grant}")
    number = PolicyRevision.objects.latest("number").number
    admin.delete(f"/groups/{family.pk}")

    take_back(number - 1, number, actor="alice")
    assert not Grant.objects.exists()


@pytest.mark.parametrize("gone", ["groups", "authorized-domains"])
def test_undoing_the_creation_of_a_group_or_domain_deletes_its_grant(gone):
    domain = services.register_domain(actor="alice", name=OFFICE, access="authenticated")
    domain_made = PolicyRevision.objects.get(resources__contains="authorized-domains").number
    group = create_group(actor="alice", name="family")
    group_made = PolicyRevision.objects.latest("number").number
    ends = timezone.now() + timedelta(hours=1)
    grants.create_grant(actor="alice", group=group, domain=domain, expires_at=ends)

    number = group_made if gone == "groups" else domain_made
    take_back(number - 1, number, actor="alice")
    assert not Grant.objects.exists()
    newest = PolicyRevision.objects.latest("number")
    assert {"resource": "grants", "action": "deleted", "count": 1} in newest.counts


def test_a_group_that_was_deleted_meanwhile_is_refused(admin, office, family):
    delete_group(type(family).objects.get(pk=family.pk), actor="alice")

    with pytest.raises(GroupRemoved):
        grants.create_grant(actor="alice", group=family, domain=office, expires_at=timezone.now() + timedelta(hours=1))


def test_a_grant_on_a_denied_domain_is_refused_with_the_reason(admin, bob, office):
    services.change_domain(office, actor="alice", access="denied")

    refused = admin.post("/grants", body())

    assert code(refused) == (409, "grant-overruled")
    assert f"access to {OFFICE} is denied, which overrides every grant" in refused.json()["detail"]


def test_the_maximum_is_refused_unless_one_has_ended(admin, bob, office, family):
    ends = timezone.now() + timedelta(hours=1)
    Grant.objects.bulk_create(Grant(user=bob, domain=office, expires_at=ends) for _ in range(MAX_GRANTS))

    assert code(admin.post("/grants", OF_FAMILY)) == (409, "too-many-grants")
    refused = admin.post("/grants", body())
    assert code(refused) == (409, "too-many-grants")
    assert "1,000" in refused.json()["detail"]

    Grant.objects.filter(pk=Grant.objects.first().pk).update(expires_at=timezone.now())
    assert admin.post("/grants", body()).status_code == 201
    assert Grant.objects.count() == MAX_GRANTS


def test_deleting_user_or_domain_deletes_the_grant_in_the_same_revision(admin, bob, office):
    admin.post("/grants", body())
    services.remove_domain(AuthorizedDomain.objects.get(), actor="alice", force=True)
    assert "grants" in PolicyRevision.objects.latest("number").resources

    services.register_domain(actor="alice", name=OFFICE, access="authenticated")
    admin.post("/grants", body())
    accounts.delete_user(bob, actor="alice")
    assert "grants" in PolicyRevision.objects.latest("number").resources
    assert not Grant.objects.exists()


def test_a_restore_brings_a_grant_back_unless_its_user_was_deleted(admin, charlie, narrow):
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


def test_filters_find_a_group_grant(admin, office, family):
    admin.post("/grants", OF_FAMILY)

    assert [admin.get("/grants", {name: "family"}).json()["count"] for name in ("group", "search")] == [1, 1]
    assert admin.get("/grants", {"user": "family"}).json()["count"] == 0


def test_a_backtest_accepts_a_grant(admin, bob, office):
    window = {"start_time": in_hours(-1), "end_time": in_hours(0)}
    proposal = {"resource": "grants", "change": "create", "values": body(), **window}

    assert admin.post("/policy/backtest", proposal).status_code in {200, 201, 202}
    assert not Grant.objects.exists()


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ({"user": "BOB"}, 1),
        ({"user": "alice"}, 0),
        ({"group": "family"}, 0),
        ({"domain": OFFICE}, 1),
        ({"path_prefix": "/photos"}, 1),
        ({"expires_at_after": "2090-01-01T00:00:00Z"}, 0),
        ({"search": "wedding"}, 1),
        ({"decision_id": "019cebab-8748-7000-8000-000000000000"}, 0),
    ],
)
def test_filters_find_a_grant(admin, bob, office, query, number):
    admin.post("/grants", body(path_prefix="/photos", reason="the wedding"))

    assert admin.get("/grants", query).json()["count"] == number
