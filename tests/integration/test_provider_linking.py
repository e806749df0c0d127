"""Which user a provider signs in: links, verified e-mail addresses, new users, and the last way to sign in."""

import pytest

from accounts import services
from accounts.models import ExternalIdentity, User
from audit.models import SecurityEvent
from tests.support.provider_visits import button, come_back, link, sign_in, whys
from tests.support.proxies import a_user
from tests.support.visitor import Visitor, words

pytestmark = pytest.mark.django_db


def with_address(name, **values):
    """Create a user with the address that the provider has verified."""
    return services.change_user(a_user(name, **values), actor="alice", email="dora@corp.example")


def test_a_user_links_signs_in_and_unlinks(corp, set_up, bob):
    set_up(create_users=False)
    visitor = Visitor()
    visitor.sign_in()
    assert link(visitor, corp).headers["Location"] == "/wall/account?done=identity-linked"
    assert "Corp" in words(visitor.get("/account"))
    other = Visitor()
    assert sign_in(other, corp).status_code == 303
    assert ExternalIdentity.objects.get().user == bob
    identity = str(ExternalIdentity.objects.get().pk)
    assert visitor.send("/account/identities/unlink", id=identity).status_code == 303

    assert not ExternalIdentity.objects.exists()
    assert other.get("/account").status_code == 303  # signed out
    assert visitor.get("/account").status_code == 200
    kinds = SecurityEvent.objects.filter(kind__startswith="identity.").order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == ["identity.linked", "identity.unlinked"]


def test_linking_and_unlinking_ask_for_a_fresh_sign_in(corp, set_up, bob, clock):
    visitor = Visitor()
    visitor.sign_in()
    clock.shift(660)

    assert visitor.send("/account/identities/link", provider="corp").status_code == 403
    assert visitor.send("/account/identities/unlink", id="1").status_code == 403


def test_an_identity_is_linked_only_to_the_user_that_started_linking(corp, set_up, bob):
    visitor = Visitor()
    visitor.sign_in()
    page = visitor.send("/account/identities/link", provider="corp")
    back = corp.authorize(button(page))
    a_user("carol")
    visitor.send("/sign-out")
    visitor.sign_in("carol")

    assert come_back(visitor, back).status_code == 401
    assert whys("login.failed") == ["other-user"]


def test_an_identity_has_one_user(corp, set_up, bob):
    sign_in(Visitor(), corp)
    visitor = Visitor()
    visitor.sign_in()

    assert "is linked to another user." in words(link(visitor, corp))


def test_a_user_has_one_identity_at_a_provider(corp, set_up, bob):
    visitor = Visitor()
    visitor.sign_in()
    link(visitor, corp)
    corp.subject = "sub-of-another"
    page = link(visitor, corp)
    assert "You are linked to another account at Corp." in words(page)


def test_the_last_way_in_stays(corp, set_up):
    visitor = Visitor()
    sign_in(visitor, corp)

    answer = visitor.send("/account/identities/unlink", id=str(ExternalIdentity.objects.get().pk))
    assert answer.status_code == 409
    assert "You could not sign in without this." in words(answer)


def test_a_user_cannot_unlink_the_identity_of_another(corp, set_up, bob):
    sign_in(Visitor(), corp)
    visitor = Visitor()
    visitor.sign_in()

    assert visitor.send("/account/identities/unlink", id=str(ExternalIdentity.objects.get().pk)).status_code == 404
    assert visitor.send("/account/identities/unlink", id="x").status_code == 404


@pytest.mark.parametrize(
    ("claims", "is_linked"),
    [
        ({}, True),
        ({"email": "DORA@corp.example"}, True),
        ({"email_verified": False}, False),
        ({"email_verified": None}, False),
        ({"email_verified": "true"}, False),
        ({"email_verified": 1}, False),
        ({"email": ["dora@corp.example"]}, False),
        ({"email": "dora@corp.example.evil"}, False),
    ],
)
def test_a_verified_address_links_the_one_account_that_has_it(corp, set_up, claims, is_linked):
    set_up(create_users=False, link_verified_email=True)
    user = with_address("somebody")
    corp.in_token = claims

    assert (sign_in(Visitor(), corp).status_code == 303) == is_linked
    assert ExternalIdentity.objects.filter(user=user).exists() == is_linked


def test_an_address_of_two_accounts_links_neither(corp, set_up):
    set_up(link_verified_email=True)
    for name in ("first", "second"):
        with_address(name)

    assert "More than one user has this e-mail address" in words(sign_in(Visitor(), corp))
    assert not ExternalIdentity.objects.exists()


def test_an_address_links_no_administrator(corp, set_up):
    set_up(link_verified_email=True)
    with_address("root", is_admin=True)

    assert "An administrator is not linked by e-mail" in words(sign_in(Visitor(), corp))
    assert not ExternalIdentity.objects.exists()


def test_an_address_links_no_account_unless_the_provider_allows_it(corp, set_up):
    user = with_address("somebody")
    sign_in(Visitor(), corp)

    assert ExternalIdentity.objects.get().user != user


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({}, 303),
        ({"email": "dora@evil.example"}, 403),
        ({"email": "dora@corp.example@evil.example"}, 403),
        ({"email_verified": False}, 403),
        ({"email": None}, 403),
    ],
)
def test_addresses_of_some_domains_alone(corp, set_up, claims, status):
    set_up(allowed_email_domains=["corp.example"])
    corp.in_token = claims

    assert sign_in(Visitor(), corp).status_code == status


@pytest.mark.parametrize("name", [None, "", "x", "two words", ["dora"], {"a": 1}, "a" * 65, "dora\n"])
def test_a_user_name_that_cannot_be_used(corp, set_up, name):
    corp.in_token = {"preferred_username": name}

    assert "gave no user name that can be used here" in words(sign_in(Visitor(), corp))
    assert not User.objects.exists()


def test_the_user_name_may_be_another_claim(corp, set_up):
    set_up(username_claim="email")
    sign_in(Visitor(), corp)

    assert User.objects.get().username == "dora@corp.example"
