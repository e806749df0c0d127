"""The account page requires the second factor of users that have one, even after a recent password."""

import json

import pytest

from licensing.models import GitToken
from tests.api.passkeys import ORIGIN, register
from tests.support.authenticator import Authenticator
from tests.support.proxies import PASSWORD, Api, a_token
from tests.support.second_factor import App, an_app, secret_of
from tests.support.visitor import Visitor, field, secret, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def remembered(bob):
    """Return a browser whose session proved the password alone, though Bob has an app, and the app."""
    app, visitor = an_app(bob), Visitor()
    visitor.token = a_token(bob, audiences=["gate"])
    return visitor, app


CHANGES = {
    "/enrol": {"name": "tablet"},
    "/account/second-factor/off": {},
    "/account/passkeys/begin": {},
    "/account/git-tokens": {"name": "laptop", "days": "30"},
    "/account/app-tokens": {"name": "calendar", "days": "30"},
    "/account/password": {"current": PASSWORD, "new": "another battery staple"},
}


@pytest.mark.parametrize("path", CHANGES)
def test_a_fresh_password_alone_changes_nothing_of_a_user_with_a_second_factor(remembered, bob, path):
    visitor, app = remembered
    assert 'name="code"' in visitor.get("/account").text

    assert visitor.send(path, **CHANGES[path]).status_code == 403
    assert visitor.send(path, **CHANGES[path], password=PASSWORD).status_code == 403
    bob.refresh_from_db()
    assert (bob.check_password(PASSWORD), bob.totp_devices.count(), GitToken.objects.count()) == (True, 1, 0)
    if path != "/account/passkeys/begin":  # this address has no passkeys
        assert visitor.send(path, **CHANGES[path], code=app.code()).status_code in {200, 201, 303}


def test_a_code_that_begins_a_set_up_is_not_asked_for_again(remembered, bob):
    visitor, app = remembered
    tablet = App(secret_of(secret(visitor.send("/enrol", name="tablet", code=app.code()))))

    answer = visitor.send("/enrol/confirm", code=tablet.code())

    assert answer.headers["Location"] == "/wall/account?done=app"
    assert bob.totp_devices.filter(confirmed_at__isnull=False).count() == 2


def test_a_passkey_is_confirmed_once_and_returns_to_the_account(bob, settings):
    settings.GATEWALL_PUBLIC_URL = ORIGIN
    visitor, key = Visitor("wall.example.com"), Authenticator(ORIGIN)
    assert register(Api(a_token(bob)), bob, key).status_code == 201
    visitor.token = a_token(bob, audiences=["gate"])
    page = visitor.get("/account")
    assert "confirm first that it is you with your passkey" in words(page)
    assert 'action="/wall/step-up/passkey"' in page.text
    assert visitor.send("/account/passkeys/begin", password=PASSWORD).status_code == 403

    asked = visitor.send("/step-up/passkey/begin").json()["public_key"]
    done = visitor.send("/step-up/passkey", credential=json.dumps(key.get(asked)), rd=f"{ORIGIN}/wall/account")

    assert (done.status_code, done.headers["Location"]) == (303, f"{ORIGIN}/wall/account")
    assert field(page, "rd") == f"{ORIGIN}/wall/account"
    assert "confirm first" not in words(visitor.get("/account"))
    assert visitor.send("/account/passkeys/begin").status_code == 200
