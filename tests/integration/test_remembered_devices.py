"""Remembered devices: skipping the second factor, the proved methods of such a session, and their end."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import services
from accounts.models import Passkey, RememberedDevice, Session, User
from accounts.passkeys import services as passkeys
from accounts.remembered_cookie import COOKIE_NAME
from accounts.remembered_devices import services as remembered_devices
from accounts.sign_in import recovery, second_factor
from accounts.visitor import Visitor as Client
from audit.models import SecurityEvent
from gatewall.policy import system_settings
from policies import services as policies
from tests.support.cast import OFFICE
from tests.support.mail_server import kinds, send_due
from tests.support.proxies import PASSWORD, Api, a_token, a_user
from tests.support.second_factor import an_app
from tests.support.visitor import BACK, Visitor, field, words
from webhooks.models import Mail, MailKind

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]
DAYS = 30
NEW = "another battery and staple"


@pytest.fixture
def app(bob):
    """Return Bob's authenticator app, in an installation that remembers browsers."""
    system_settings.change(actor="test", remember_device_days=DAYS)
    return an_app(bob)


@pytest.fixture
def browser(app):
    """Return Bob's remembered browser, signed out."""
    visitor = Visitor()
    enter(visitor, app, remember="on")
    visitor.send("/sign-out")
    return visitor


def enter(visitor, app, **fields):
    page = visitor.sign_in()
    return visitor.send("/second-factor", challenge=field(page, "challenge"), code=app.code(), **fields)


def is_asked(visitor, username="Bob"):
    return "/second-factor" in visitor.sign_in(username).text


def test_remembering_is_offered_only_if_the_setting_allows_it(bob):
    an_app(bob)
    assert "Remember this browser" not in words(Visitor().sign_in())

    system_settings.change(actor="test", remember_device_days=1)
    assert "Remember this browser for 1 day" in words(Visitor().sign_in())


def test_an_unticked_box_and_a_setting_of_0_remember_nothing(app):
    visitor = Visitor()
    assert enter(visitor, app).status_code == 303
    system_settings.change(actor="test", remember_device_days=0)
    second_factor.forget(User.objects.get())
    assert enter(visitor, an_app(User.objects.get()), remember="on").status_code == 303

    assert RememberedDevice.objects.count() == 0
    assert COOKIE_NAME not in visitor.client.cookies


def test_the_password_is_enough_in_a_remembered_browser_and_claims_no_second_factor(browser):
    answer = browser.sign_in()

    assert answer.status_code == 303
    assert Session.objects.get(revoked_at=None).amr == ["pwd"]
    event = SecurityEvent.objects.filter(kind="login.succeeded").latest("pk")
    assert (event.detail["amr"], event.detail["remembered_device"]) == (["pwd"], True)
    assert RememberedDevice.objects.get().last_used_at == timezone.now()
    browser.send("/sign-out")
    assert browser.sign_in(password="wrong").status_code == 401


def test_the_cookie_is_for_our_pages_alone_and_its_secret_is_in_no_row(browser):
    cookie = browser.client.cookies[COOKIE_NAME]

    assert (cookie["domain"], cookie["path"], cookie["samesite"]) == ("", "/wall/", "Strict")
    assert (cookie["secure"], cookie["httponly"], cookie["max-age"]) == (True, True, DAYS * 86_400)
    secret = cookie.value.split(".")[1]
    assert len(secret) == 43
    rows = [list(model.objects.values()) for model in (RememberedDevice, SecurityEvent, Mail)]
    assert secret not in str(rows)


def test_a_site_that_requires_two_factors_ignores_the_remembered_device(browser, office, auth):
    policies.change_domain(office, actor="test", access="two_factor")
    browser.sign_in(rd=BACK)

    verdict = auth(cookie=f"service.token={browser.token}", x_forwarded_host=OFFICE)
    assert verdict.verdict == (401, "second-factor-required")
    assert "Second factor" in words(browser.get("/", {"rd": BACK}))


def test_a_remembered_device_belongs_to_one_user_and_its_cookie_to_several(browser, app):
    other = a_user("carol")
    second = an_app(other)
    assert is_asked(browser, "carol")
    page = browser.sign_in("carol")
    browser.send("/second-factor", challenge=field(page, "challenge"), code=second.code(), remember="on")
    browser.send("/sign-out")

    assert not is_asked(browser, "carol")
    browser.send("/sign-out")
    assert not is_asked(browser)


CHANGES = [lambda text: f"{text[:-1]}x", lambda text: text.replace(".", "x", 1), lambda _: "~."]


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_cookie_is_ignored(browser, change):
    browser.client.cookies[COOKIE_NAME] = change(browser.client.cookies[COOKIE_NAME].value)

    assert is_asked(browser)


def test_a_cookie_with_the_id_of_another_user_is_ignored(browser):
    a_user("carol")
    an_app(User.objects.get(username="carol"))
    number, rest = browser.client.cookies[COOKIE_NAME].value.split(".", 1)
    browser.client.cookies[COOKIE_NAME] = f"{int(number) + 1}.{rest}"

    assert is_asked(browser, "carol")
    assert is_asked(browser)


def test_the_api_and_the_admin_site_ask_for_the_second_factor(browser, bob):
    services.change_user(bob, actor="test", is_admin=True)
    client = Api(cookie="", Cookie=f"{COOKIE_NAME}={browser.client.cookies[COOKIE_NAME].value}")

    for door in ("/login", "/admin-login"):
        answer = client.post(door, {"username": "Bob", "password": PASSWORD})
        assert answer.json()["two_factor_required"] is True


def _disabled_and_enabled(user):
    services.change_user(user, actor="test", is_active=False)
    services.change_user(user, actor="test", is_active=True)


def _passkey_removed(user):
    row = Passkey.objects.create(user=user, name="phone", credential_id="a", public_key="b", rp_id="wall.example")
    passkeys.remove(row, actor="test")


ENDS = {
    "a passkey removed": _passkey_removed,
    "a new password": lambda user: services.change_user(user, actor="test", password=PASSWORD),
    "sign-out everywhere": lambda user: services.end_all_sessions(user, actor="test"),
    "disabled": _disabled_and_enabled,
    "a reset": lambda user: (recovery.reset(user, actor="test"), an_app(user)),
    "another app": lambda user: (second_factor.switch_off_app(user, actor="test"), an_app(user)),
    "the setting": lambda _user: system_settings.change(actor="test", remember_device_days=0),
    "forgotten": lambda _user: remembered_devices.forget(RememberedDevice.objects.get(), actor="test"),
}


@pytest.mark.parametrize("end", ENDS)
def test_account_and_setting_changes_end_a_remembered_device(browser, bob, end):
    ENDS[end](User.objects.get(pk=bob.pk))

    assert is_asked(browser)


def test_a_remembered_device_expires_and_earlier_when_the_setting_is_lowered(browser, clock):
    clock.shift(timedelta(days=DAYS) - timedelta(seconds=1))
    assert not is_asked(browser)
    browser.send("/sign-out")
    system_settings.change(actor="test", remember_device_days=DAYS - 1)
    assert is_asked(browser)
    system_settings.change(actor="test", remember_device_days=DAYS + 1)
    clock.shift(timedelta(seconds=1))
    assert is_asked(browser)
    assert remembered_devices.prune(timezone.now()) == 1


def test_ended_devices_and_the_oldest_of_too_many_are_pruned(app, bob):
    visitor = Visitor()
    enter(visitor, app, remember="on")
    first = RememberedDevice.objects.get()
    rows = [RememberedDevice(**{**values(first), "digest": f"{number}"}) for number in range(20)]
    RememberedDevice.objects.bulk_create(rows)
    bob.refresh_from_db()
    assert remembered_devices.remember(bob, visitor=Client("203.0.113.7", "tests"), at=timezone.now())
    assert RememberedDevice.objects.count() == remembered_devices.MAX_DEVICES
    assert not RememberedDevice.objects.filter(pk=first.pk).exists()

    services.end_all_sessions(bob, actor="test")
    assert remembered_devices.prune(timezone.now()) == remembered_devices.MAX_DEVICES


def values(row):
    kept = ("user_id", "session_version", "created_at", "expires_at", "client_ip", "user_agent")
    return {name: getattr(row, name) for name in kept}


def test_a_remembered_device_is_listed_and_forgotten_on_the_account_page(browser):
    browser.sign_in()
    page = browser.get("/account")
    assert "Remembered browsers" in words(page)
    row = RememberedDevice.objects.get()

    assert browser.send("/account/remembered/forget", id="999999").status_code == 404
    answer = browser.send("/account/remembered/forget", id=str(row.pk))

    assert answer.headers["Location"] == "/wall/account?done=device-forgotten"
    assert "Remembered browsers" not in words(browser.get("/account", {"done": "device-forgotten"}))
    browser.send("/sign-out")
    assert is_asked(browser)


def test_a_remembered_device_is_listed_and_forgotten_in_the_api_by_its_user_and_admins(browser, bob, alice, charlie):
    path, row = f"/users/{bob.pk}/remembered-devices", RememberedDevice.objects.get()
    own, admin = Api(a_token(bob)), Api(a_token(alice))

    [shown] = own.get(path).json()["results"]
    assert (shown["id"], shown["last_used_at"], "digest" in shown) == (row.pk, None, False)
    assert admin.get(f"{path}/{row.pk}").json() == shown
    assert [admin.get(path, {"created_by": ""}).status_code, own.get(path, {"ordering": "-id"}).status_code] == [
        400,
        200,
    ]
    assert Api(a_token(charlie)).delete(f"{path}/{row.pk}").status_code == 403
    assert admin.delete(f"/users/{alice.pk}/remembered-devices/{row.pk}").status_code == 404
    assert admin.get("/users/999999/remembered-devices").status_code == 404
    assert admin.delete(f"{path}/{row.pk}").status_code == 204
    event = SecurityEvent.objects.get(kind="device.forgotten")
    assert (event.user_id, event.detail["actor"]) == (bob.pk, "alice")
    assert is_asked(browser)


def test_the_owner_of_a_remembered_device_gets_a_mail(mailbox, app):
    Mail.objects.all().delete()
    enter(Visitor(), app, remember="on")

    assert kinds() == [MailKind.DEVICE_REMEMBERED]
    send_due()
    assert f"for {DAYS} days it is asked for the password" in mailbox.texts()[0]
