"""One-time links and passkeys: invitations accepted with a passkey, resets proved with one, and attacks on both."""

import json

import pytest

from accounts import selectors
from accounts.models import AccountLink, LinkPurpose, Passkey, RecoveryCode, User
from accounts.passkeys import services as passkeys
from tests.api.passkeys import ORIGIN, refusals, register
from tests.support.authenticator import PRESENT, Authenticator
from tests.support.link_passkeys import NEW, a_link, accept, begin
from tests.support.proxies import PASSWORD, Api, a_token
from tests.support.second_factor import an_app
from tests.support.visitor import Visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _home(settings):
    settings.GATEWALL_PUBLIC_URL = ORIGIN


@pytest.fixture
def visitor():
    return Visitor("wall.example.com")


@pytest.fixture
def authenticator():
    return Authenticator(ORIGIN)


@pytest.fixture
def key(bob, authenticator):
    """Return an authenticator with a passkey of Bob, who has no recovery code left."""
    assert register(Api(a_token(bob)), bob, authenticator).status_code == 201
    RecoveryCode.objects.all().delete()
    return authenticator


# Invitation


def test_an_invitation_is_accepted_with_a_passkey_and_leaves_no_password(visitor, bob, authenticator, auth):
    token, old = a_link(bob, may_rename=True), a_token(bob)
    page = visitor.get("/invitation", {"token": token})
    assert "Or use a passkey, and no password" in words(page)
    assert 'action="/wall/invitation/passkey"' in page.text

    done = accept(visitor, token, authenticator, username="robert")

    assert done.status_code == 200
    assert done.text.count("-") > 30  # ten recovery codes
    assert done.headers["Referrer-Policy"] == "strict-origin"
    user = User.objects.get(pk=bob.pk)
    assert (user.username, user.has_usable_password(), selectors.has_passkey(user)) == ("robert", False, True)
    assert Passkey.objects.get().created_by == "robert"
    assert Api(old).get("/session").status_code == 401
    assert Api(visitor.token).get("/session").json()["amr"] == ["mfa", "hwk", "phr"]
    account = visitor.get("/account")
    assert "robert" in words(account)
    assert "You have none. To choose one, sign out" in words(account)
    assert Visitor("wall.example.com").sign_in("robert").status_code == 401


def test_it_works_once(visitor, bob, authenticator):
    token = a_link(bob)
    assert accept(visitor, token, authenticator).status_code == 200

    assert begin(visitor, token).status_code == 409
    assert visitor.send("/invitation/passkey", token=token, credential="{}", name="x").status_code == 410
    assert visitor.send("/invitation", token=token, new=NEW).status_code == 410
    assert Passkey.objects.count() == 1


def test_the_only_passkey_stays(visitor, bob, authenticator):
    accept(visitor, a_link(bob), authenticator)

    page = visitor.send("/account/passkeys/remove", id=str(Passkey.objects.get().pk))

    assert page.status_code == 409
    assert "You could not sign in without this" in words(page)


@pytest.mark.parametrize("name", ["ALICE", "b", "a b c", "x" * 65])
def test_a_taken_or_invalid_name_is_refused_before_the_device_makes_a_passkey(visitor, alice, bob, name):
    token = a_link(bob, may_rename=True)

    refused = begin(visitor, token, username=name)

    assert refused.status_code in {400, 409}
    assert set(refused.json()) == {"detail"}
    assert begin(visitor, token, username="BOB").status_code == 200  # their own name, in another letter case


def test_a_name_is_only_chosen_where_the_admin_allowed_it(visitor, bob, authenticator):
    accept(visitor, a_link(bob), authenticator, username="robert")

    assert User.objects.get(pk=bob.pk).username == "Bob"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"origin": "https://wall.example.org"}, "passkey-wrong-origin"),
        ({"rp_id": "example.org"}, "passkey-wrong-rp-id"),
        ({"flags": PRESENT}, "passkey-user-not-verified"),
    ],
)
def test_a_passkey_of_elsewhere_is_refused_and_leaves_the_link(visitor, bob, change, why):
    token = a_link(bob)

    page = accept(visitor, token, Authenticator(**{"origin": ORIGIN, **change}))

    assert (page.status_code, refusals()) == (401, [why])
    assert "Welcome" in words(page)
    assert visitor.token == ""
    assert not Passkey.objects.exists()
    assert User.objects.get(pk=bob.pk).check_password(PASSWORD)
    assert accept(visitor, token, Authenticator(ORIGIN)).status_code == 200


def test_a_challenge_of_another_browser_or_link_is_refused(visitor, alice, bob, authenticator):
    token, other = a_link(bob), Visitor("wall.example.com")

    assert accept(visitor, token, authenticator, begun_by=other).status_code == 401
    assert accept(visitor, token, authenticator, begun_with=a_link(alice)).status_code == 401
    assert refusals() == ["passkey-other-challenge"]  # one row, counted
    assert not Passkey.objects.exists()


def test_a_challenge_is_answered_once(visitor, bob, alice, authenticator):
    begun = begin(visitor, token := a_link(bob)).json()["public_key"]
    answer = json.dumps(authenticator.create(begun))
    for name in ("", "phone", "phone"):  # a refused name uses up the challenge too
        visitor.send("/invitation/passkey", token=token, credential=answer, name=name)

    assert "passkey-replayed" in refusals()
    assert not Passkey.objects.exists()


@pytest.mark.parametrize("factor", ["app", "passkey"])
def test_a_link_passkey_does_not_bypass_a_second_factor(visitor, bob, request, factor):
    """Access to the mailbox is not enough: the link must not add a passkey for an attacker who reads the mail."""
    begun = begin(visitor, token := a_link(bob)).json()["public_key"]
    answer = json.dumps(Authenticator(ORIGIN).create(begun))
    an_app(bob) if factor == "app" else request.getfixturevalue("key")

    page = visitor.send("/invitation/passkey", token=token, credential=answer, name="mine")

    assert page.status_code == 401
    assert visitor.token == ""
    assert Passkey.objects.filter(name="mine").count() == 0
    assert "Or use a passkey" not in words(visitor.get("/invitation", {"token": token}))
    assert "user" not in begin(visitor, token).json()["public_key"]  # it asks for an existing passkey of the user


def test_a_factor_that_is_added_while_the_passkey_is_verified_is_seen(visitor, bob, authenticator, monkeypatch):
    verified = passkeys.verified

    def slow(user, *args, **options):
        an_app(user)
        return verified(user, *args, **options)

    monkeypatch.setattr(passkeys, "verified", slow)

    assert accept(visitor, a_link(bob), authenticator).status_code == 401
    assert not Passkey.objects.exists()
    assert AccountLink.objects.count() == 1


def test_a_reset_link_makes_no_passkey(visitor, bob, authenticator):
    token = a_link(bob, LinkPurpose.PASSWORD_RESET)

    assert begin(visitor, token, "/password/new").status_code == 404
    assert begin(visitor, token).status_code == 409
    assert "Or use a passkey" not in words(visitor.get("/password/new", {"token": token}))
    assert visitor.send("/invitation/passkey", token=token, credential="{}", name="x").status_code == 410


def test_the_last_admin_keeps_the_password(visitor, alice, authenticator):
    page = accept(visitor, a_link(alice), authenticator)

    assert page.status_code == 409
    assert User.objects.get().check_password(PASSWORD)
    assert AccountLink.objects.count() == 1
    assert not Passkey.objects.exists()


def test_forms_sent_by_another_site_are_refused(visitor, bob):
    token = a_link(bob)
    for path in ("/invitation/passkey", "/invitation/passkey/begin", "/password/new/passkey/begin"):
        assert visitor.send(path, {"Sec-Fetch-Site": "cross-site"}, token=token).status_code == 403
    assert AccountLink.objects.count() == 1


def test_under_a_host_without_passkeys_the_page_has_no_form(bob, settings):
    settings.GATEWALL_PUBLIC_URL = ""
    visitor, token = Visitor("203.0.113.7"), a_link(bob)

    assert "passkey" not in visitor.get("/invitation", {"token": token}).text
    assert begin(visitor, token).status_code == 409


@pytest.mark.parametrize("credential", ["", "{", "[]", '{"id": 1}', "x" * 20_000])
def test_an_answer_that_cannot_be_read_is_refused(visitor, bob, credential):
    token = a_link(bob)
    begin(visitor, token)

    assert visitor.send("/invitation/passkey", token=token, credential=credential, name="x").status_code == 401
    assert not Passkey.objects.exists()
