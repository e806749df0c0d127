"""Invitations and reset links over the API: who gets the link, and how often."""

from datetime import timedelta

import pytest

from accounts.models import AccountLink, User
from audit.models import SecurityEvent
from gatewall.kernel.env_mail import MailSecurity, MailServer
from tests.api.own import OLD
from tests.support.cast import MOMENT
from tests.support.mail_server import PUBLIC_URL, use
from tests.support.proxies import PASSWORD, Api, a_token, an_api_token, with_api_token
from webhooks.models import Mail

NOBODY = MailServer(MailSecurity.NONE, "127.0.0.1", 1)
"""These tests send no mail."""


@pytest.fixture
def mail(settings):
    use(settings, NOBODY)


def test_without_mail_the_admin_gets_the_link_once(clock, admin, bob):
    answer = admin.post(f"/users/{bob.pk}/invitation", {})

    body = answer.json()
    assert (answer.status_code, body["sent_to"]) == (201, None)
    assert body["link"].startswith("http://testserver/wall/invitation?token=gwi_") or body["link"].startswith(
        "https://"
    )
    assert body["expires_at"] == "2026-03-17T09:26:53Z"
    token = body["link"].partition("token=")[2]
    assert token not in admin.get(f"/users/{bob.pk}").content.decode()
    assert AccountLink.objects.get().digest != token
    reset = admin.post(f"/users/{bob.pk}/password-reset", {}).json()
    assert "/wall/password/new?token=gwi_" in reset["link"]
    assert reset["expires_at"] == "2026-03-14T09:56:53Z"


def test_with_mail_the_link_is_sent_and_not_shown(mail, admin, bob):
    body = admin.post(f"/users/{bob.pk}/invitation", {"choose_username": False}).json()

    assert body == {"sent_to": "bob@office.example", "link": None, "expires_at": None}
    queued = Mail.objects.get()
    assert (queued.kind, queued.user_id, queued.detail["choose_username"]) == ("invitation", bob.pk, False)
    assert not AccountLink.objects.exists()


def test_the_link_is_shown_on_request_or_without_a_mail_address(mail, admin, bob):
    asked = admin.post(f"/users/{bob.pk}/password-reset", {"hand_over": True}).json()
    User.objects.filter(pk=bob.pk).update(email="")
    without = admin.post(f"/users/{bob.pk}/invitation", {}).json()

    assert asked["link"].startswith(f"{PUBLIC_URL}/wall/password/new?token=gwi_")
    assert without["link"].startswith(f"{PUBLIC_URL}/wall/invitation?token=gwi_")
    assert not Mail.objects.exists()
    assert [event.detail["by_hand"] for event in SecurityEvent.objects.filter(kind="user.invited")] == [True]


def test_a_user_is_created_by_an_invitation_in_place_of_a_password(mail, admin):
    created = admin.post("/users", {"username": "kim", "email": "kim@office.example", "invite": True})

    assert created.status_code == 201, created.json()
    assert created.json()["invitation"] == {"sent_to": "kim@office.example", "link": None, "expires_at": None}
    assert Api().post("/login", {"username": "kim", "password": ""}).status_code in {400, 401}
    put = admin.put(f"/users/{created.json()['id']}", {**created.json(), "remark": "new"})
    assert put.status_code == 200, put.json()


@pytest.mark.parametrize(
    ("values", "field", "code"),
    [
        ({}, "password", "required"),
        ({"invite": False}, "password", "required"),
        ({"invite": True, "password": PASSWORD}, "invite", "invalid"),
        ({"invite": "yes"}, "invite", "invalid"),
    ],
)
def test_a_new_user_has_a_password_or_an_invitation(admin, values, field, code):
    refused = admin.post("/users", {"username": "kim", **values})

    assert refused.status_code == 400
    assert [(error["field"], error["code"]) for error in refused.json()["errors"]] == [(field, code)]


def test_changing_a_user_sends_no_invitation(admin, bob):
    assert admin.put(f"/users/{bob.pk}", {"invite": True}).status_code == 400


def test_a_disabled_user_gets_no_link(admin, bob):
    User.objects.filter(pk=bob.pk).update(is_active=False)
    refused = admin.post(f"/users/{bob.pk}/invitation", {})

    assert (refused.status_code, refused.json()["code"]) == (409, "user-disabled")


def test_an_old_session_proves_itself_first(clock, alice, bob):
    old = Api(a_token(alice, at=MOMENT - OLD - timedelta(seconds=1)))
    path = f"/users/{bob.pk}/password-reset"

    assert old.post(path, {}).json()["code"] == "reauthentication-required"
    assert old.post(path, {"password": "wrong password"}).json()["code"] == "reauthentication-failed"
    assert old.post(path, {"password": PASSWORD}).status_code == 201


def test_an_api_token_creates_no_link_for_an_admin(alice, bob):
    client = with_api_token(an_api_token(alice, "users:write"))

    for path in ("invitation", "password-reset"):
        refused = client.post(f"/users/{alice.pk}/{path}", {})
        assert (refused.status_code, refused.json()["code"]) == (403, "session-required")
        assert client.post(f"/users/{bob.pk}/{path}", {}).status_code == 201


def test_a_link_for_a_missing_user_is_not_found(admin):
    assert admin.post("/users/999999/invitation", {}).status_code == 404
