"""A new password by a link, proved with a passkey; and the guard page if every user has a passkey."""

import json

import pytest

from accounts import selectors, services
from accounts.links import links
from accounts.models import AccountLink, LinkPurpose, RecoveryCode, User
from audit.models import SecurityEvent
from tests.api.passkeys import ORIGIN, refusals, register
from tests.support.authenticator import Authenticator
from tests.support.link_passkeys import NEW, a_link, begin, reset
from tests.support.proxies import PASSWORD, Api, a_token
from tests.support.second_factor import an_app
from tests.support.visitor import Visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(settings):
    settings.GATEWALL_PUBLIC_URL = ORIGIN
    return Visitor("wall.example.com")


@pytest.fixture
def key(bob, visitor):
    """Return an authenticator with a passkey of Bob, who has no recovery code left."""
    authenticator = Authenticator(ORIGIN)
    assert register(Api(a_token(bob)), bob, authenticator).status_code == 201
    RecoveryCode.objects.all().delete()
    return authenticator


# Password reset


@pytest.mark.parametrize(("purpose", "path"), [(purpose, f"/{path}") for purpose, path in links.PATHS.items()])
def test_a_new_password_is_set_with_the_only_passkey_and_gives_no_session(visitor, bob, key, purpose, path):
    token = a_link(bob, purpose)
    page = visitor.get(path, {"token": token})
    assert 'name="code"' not in page.text
    assert "Set it with your passkey" in words(page)

    done = reset(visitor, token, key, path)

    assert "Your password is changed" in words(done)
    assert visitor.token == ""
    assert User.objects.get(pk=bob.pk).check_password(NEW)
    assert selectors.has_passkey(bob)


def test_app_and_passkey_are_both_offered_and_either_is_enough(visitor, bob, key):
    app, token = an_app(bob), a_link(bob, LinkPurpose.PASSWORD_RESET)
    page = visitor.get("/password/new", {"token": token})
    assert 'name="code"' in page.text
    assert "Set it with a passkey instead of a code" in words(page)

    assert visitor.send("/password/new", token=token, new=NEW, code=app.code()).status_code == 200


def test_without_a_proof_nothing_is_set(visitor, bob, key):
    token = a_link(bob, LinkPurpose.PASSWORD_RESET)

    for fields in ({}, {"code": "000000"}, {"credential": "{}"}):
        assert visitor.send("/password/new", token=token, new=NEW, **fields).status_code == 401
    assert User.objects.get(pk=bob.pk).check_password(PASSWORD)
    assert AccountLink.objects.count() == 1


def test_a_passkey_of_another_user_or_for_another_link_is_refused(visitor, alice, bob, key):
    stranger = Authenticator(ORIGIN)
    assert register(Api(a_token(alice)), alice, stranger).status_code == 201
    token = a_link(bob, LinkPurpose.PASSWORD_RESET)
    assert reset(visitor, token, stranger).status_code == 401

    other = a_link(bob)  # an invitation for the same user
    answer = json.dumps(key.get(begin(visitor, other).json()["public_key"]))
    assert visitor.send("/password/new", token=token, new=NEW, credential=answer).status_code == 401
    assert refusals() == ["passkey-unknown", "passkey-other-challenge"]
    assert {event.detail["flow"] for event in SecurityEvent.objects.filter(kind="passkey.refused")} == {"one-time-link"}
    assert User.objects.get(pk=bob.pk).check_password(PASSWORD)


def test_a_refused_password_keeps_the_link_and_asks_for_another_proof(visitor, bob, key):
    token = a_link(bob, LinkPurpose.PASSWORD_RESET)
    answer = json.dumps(key.get(begin(visitor, token, "/password/new").json()["public_key"]))

    assert visitor.send("/password/new", token=token, new="short", credential=answer).status_code == 400
    assert "Your password is changed" in words(reset(visitor, token, key))


def test_where_passkeys_do_not_work_the_page_refers_to_the_administrator(bob, key, settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.other.example"
    page = Visitor("wall.other.example").get("/password/new", {"token": a_link(bob, LinkPurpose.PASSWORD_RESET)})

    assert "Ask your administrator to remove your second factor" in words(page)


# The guard page


def test_the_password_is_folded_up_where_every_active_user_has_a_passkey(visitor, bob, alice, key):
    assert "<details" not in visitor.get("/").text
    services.change_user(bob, actor="alice", is_admin=True)
    services.change_user(alice, actor="alice", is_active=False)

    page = visitor.get("/")

    assert page.text.index('action="/wall/passkey"') < page.text.index("<details>") < page.text.index('name="password"')
    wrong = visitor.sign_in(password="wrong password")
    assert "<details open>" in wrong.text
    assert "<details" not in Visitor("wall.example.com").get("/account").text


def test_a_passkey_for_another_domain_folds_nothing_up(bob, key, settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.other.example"

    assert "<details" not in Visitor("wall.other.example").get("/").text
