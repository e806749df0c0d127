"""Groups by the claims of a provider: added and removed at each sign-in, and explained."""

import pytest

from accounts import selectors, services
from accounts.identity_providers import services as providers
from accounts.models import ExternalIdentity, Session, User
from policies.groups import services as groups
from tests.support.provider_visits import link, sign_in, whys
from tests.support.visitor import Visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(db):
    return groups.create_group(actor="alice", name="staff")


@pytest.fixture
def wiki(db):
    return groups.create_group(actor="alice", name="wiki")


def test_groups_follow_the_claim_at_each_sign_in(corp, set_up, staff, wiki):
    set_up(mapped_groups={"staff": [staff.pk], "editors": [wiki.pk, 999_999]})
    sign_in(Visitor(), corp)
    user = User.objects.get()
    assert names(user) == ["staff"]
    corp.claims["groups"] = ["editors", "unknown", 7, None]
    sign_in(Visitor(), corp)
    assert names(user) == ["wiki"]
    corp.claims["groups"] = "staff"
    sign_in(Visitor(), corp)
    assert names(user) == ["staff"]
    del corp.claims["groups"]
    visitor = Visitor()
    sign_in(visitor, corp)

    assert names(user) == []
    assert Session.objects.filter(revoked_at__isnull=True).count() == 4


def names(user):
    return sorted(user.groups.values_list("name", flat=True))


def test_a_manually_assigned_group_stays(corp, set_up, staff):
    sign_in(Visitor(), corp)
    user = User.objects.get()
    services.change_user(user, actor="alice", groups=[staff])
    set_up(mapped_groups={"staff": [staff.pk]})
    sign_in(Visitor(), corp)
    corp.claims["groups"] = []
    sign_in(Visitor(), corp)

    assert names(user) == ["staff"]


def test_a_group_from_two_providers_is_removed_with_the_second(corp, set_up, staff, bob):
    set_up(mapped_groups={"staff": [staff.pk]})
    other = providers.create_provider(actor="alice", **corp.settings(slug="other"), mapped_groups={"staff": [staff.pk]})
    visitor = Visitor()
    visitor.sign_in()
    link(visitor, corp)
    ExternalIdentity.objects.create(
        provider=other, user=bob, issuer=corp.issuer, subject="x", linked_at=bob.created_at
    ).claimed_groups.create(group=staff, claim="groups", value="staff", is_added=False, claimed_at=bob.created_at)
    corp.claims["groups"] = []
    sign_in(Visitor(), corp)
    assert names(bob) == ["staff"]
    providers.delete_provider(other, actor="alice")

    assert names(bob) == []


def test_a_claim_in_a_claim_and_one_with_a_url_as_name(corp, set_up, staff, wiki):
    set_up(groups_claim="realm_access.roles", mapped_groups={"staff": [staff.pk]})
    corp.claims["realm_access"] = {"roles": ["staff"]}
    sign_in(Visitor(), corp)
    assert names(User.objects.get()) == ["staff"]
    set_up(groups_claim="https://corp.example/groups", mapped_groups={"x": [wiki.pk]})
    corp.claims["https://corp.example/groups"] = ["x"]
    sign_in(Visitor(), corp)

    assert names(User.objects.get()) == ["wiki"]


def test_the_account_page_shows_the_claim_behind_each_group(corp, set_up, staff):
    set_up(mapped_groups={"staff": [staff.pk]})
    visitor = Visitor()
    sign_in(visitor, corp)

    assert "staff, because groups has staff" in words(visitor.get("/account"))


def test_the_rights_of_an_administrator_come_and_go_with_the_claim(corp, set_up, alice):
    set_up(mapped_groups={"boss": ["admins"]}, group_map_gives_admin=True)
    corp.claims["groups"] = ["boss"]
    sign_in(Visitor(), corp)
    user = User.objects.get(username="dora")
    assert user.is_admin
    assert selectors.has_active_admin_besides(alice) is False  # the user cannot sign in locally
    corp.claims["groups"] = []
    sign_in(Visitor(), corp)

    user.refresh_from_db()
    assert not user.is_admin


def test_the_last_administrator_stays_one_although_the_claim_is_gone(corp, set_up, bob):
    set_up(mapped_groups={"boss": ["admins"]}, group_map_gives_admin=True)
    corp.claims["groups"] = ["boss"]
    visitor = Visitor()
    visitor.sign_in()
    link(visitor, corp)
    bob.refresh_from_db()
    assert bob.is_admin
    corp.claims["groups"] = []
    sign_in(Visitor(), corp)

    bob.refresh_from_db()
    assert bob.is_admin
    assert "last-admin" in whys("provider.failed")


def test_unlinking_takes_the_groups_that_the_claim_gave(corp, set_up, bob, staff):
    set_up(mapped_groups={"staff": [staff.pk]})
    visitor = Visitor()
    visitor.sign_in()
    link(visitor, corp)
    assert names(bob) == ["staff"]
    visitor.send("/account/identities/unlink", id=str(ExternalIdentity.objects.get().pk))

    assert names(bob) == []


def test_explain_shows_the_claim_behind_each_group(corp, set_up, staff, admin, office):
    set_up(mapped_groups={"staff": [staff.pk]})
    sign_in(Visitor(), corp)
    request = {"client_ip": "192.0.2.7", "host": office.name, "method": "GET", "uri": "/"}
    subject = {"kind": "user", "name": "dora", "amr": ["fed"]}
    answer = admin.post("/policy/explain", {**request, "credential": subject}).json()

    assert answer["claimed_groups"] == [{"group": "staff", "provider": "corp", "claim": "groups", "value": "staff"}]
    assert admin.post("/policy/explain", request).json()["claimed_groups"] == []


def test_an_administrator_by_a_claim_does_not_replace_the_last_local_one(corp, set_up, admin, alice):
    set_up(mapped_groups={"boss": ["admins"]}, group_map_gives_admin=True)
    corp.claims["groups"] = ["boss"]
    sign_in(Visitor(), corp)
    assert User.objects.get(username="dora").is_admin

    assert admin.put(f"/users/{alice.pk}", {"is_admin": False}).json()["code"] == "last-admin"
