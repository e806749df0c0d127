"""Authenticator apps on the account page: added, named, used, removed; only own ones, and not by a stolen session."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import RecoveryCode, TotpDevice
from accounts.sign_in import totp
from tests.support.mail_server import kinds
from tests.support.proxies import PASSWORD, a_token
from tests.support.second_factor import App, an_app, secret_of
from tests.support.visitor import Visitor, secret, words
from webhooks.models import MailKind

pytestmark = pytest.mark.django_db


@pytest.fixture
def first(bob):
    return an_app(bob)


@pytest.fixture
def visitor(bob, first):
    visitor = Visitor()
    visitor.token = a_token(bob, audiences=["gate"], amr=["pwd", "otp"])
    return visitor


@pytest.fixture
def stale(bob, first):
    visitor = Visitor()
    visitor.token = a_token(bob, audiences=["gate"], at=timezone.now() - timedelta(minutes=11))
    return visitor


def add(visitor, name, **fields):
    app = App(secret_of(secret(visitor.send("/enrol", name=name, **fields))))
    answer = visitor.send("/enrol/confirm", code=app.code())
    assert (answer.status_code, answer.headers["Location"]) == (303, "/wall/account?done=app")
    return app


def row_of(user, name=""):
    return str(user.totp_devices.get(name=name).pk)


def test_another_app_is_added_named_used_and_removed(visitor, bob, mailbox):
    codes = RecoveryCode.objects.count()
    tablet = add(visitor, "tablet")
    page = visitor.get("/account", {"done": "app"})
    assert "The app is added." in words(page)
    assert words(page).count("not used yet") >= 2
    assert RecoveryCode.objects.count() == codes

    assert visitor.send("/account/apps/rename", id=row_of(bob, "tablet"), name="old tablet").status_code == 303
    other = Visitor()
    other.sign_in()
    assert 'name="code"' in other.sign_in().text
    assert TotpDevice.objects.get(name="old tablet").last_used_at is None
    assert totp.use_code(bob, tablet.code(steps=1), timezone.now())
    assert "old tablet added" in " ".join(words(visitor.get("/account")).split())
    assert TotpDevice.objects.get(name="old tablet").last_used_at is not None

    assert visitor.send("/account/apps/remove", id=row_of(bob)).headers["Location"] == "/wall/account?done=app-removed"
    assert [app.name for app in TotpDevice.objects.all()] == ["old tablet"]
    assert kinds() == [MailKind.FACTOR_ADDED, MailKind.FACTOR_REMOVED]


def test_five_apps_with_long_names_stay_a_small_page_and_the_sixth_is_refused(visitor, bob):
    for number in range(4):
        add(visitor, f"{number}" * 100)

    page = visitor.send("/enrol", name="one more")

    assert page.status_code == 409
    assert "You have the maximum number of apps." in words(page)
    assert "authenticators=2" in page.text


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "x" * 101])
def test_an_invalid_name_adds_no_app(visitor, name):
    page = visitor.send("/enrol", name=name)

    assert page.status_code in {400, 409}
    assert TotpDevice.objects.count() == 1


@pytest.mark.parametrize("path", ["rename", "remove"])
@pytest.mark.parametrize("whose", ["another's", "one that waits", "none", "no number"])
def test_a_user_can_change_only_their_own_confirmed_apps(visitor, bob, alice, path, whose):
    an_app(alice)
    totp.begin_setup(bob, name="waits", at=timezone.now())
    ids = {"another's": row_of(alice), "one that waits": row_of(bob, "waits"), "none": "999999", "no number": "²"}

    assert visitor.send(f"/account/apps/{path}", id=ids[whose], name="mine").status_code == 404
    assert sorted(TotpDevice.objects.values_list("name", flat=True)) == ["", "", "waits"]


@pytest.mark.parametrize("proof", [{}, {"password": "wrong"}, {"code": "000000"}])
def test_an_old_session_without_a_proof_adds_and_removes_no_app(stale, bob, proof):
    assert stale.send("/account/apps/remove", id=row_of(bob), **proof).status_code == 403
    page = stale.send("/enrol", name="mine", **proof)

    assert page.status_code == 403
    assert TotpDevice.objects.count() == 1


@pytest.mark.parametrize("path", ["/account/apps/rename", "/account/apps/remove", "/enrol"])
@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
def test_forms_sent_by_another_site_are_refused(visitor, bob, path, headers):
    assert visitor.send(path, headers, id=row_of(bob), name="mine").status_code == 403
    assert [app.name for app in TotpDevice.objects.all()] == [""]


def test_a_visitor_without_a_session_is_redirected_to_the_guard_page(bob, first):
    for path in ("/account/apps/rename", "/account/apps/remove"):
        assert Visitor().send(path, id=row_of(bob), name="mine").headers["Location"] == "/wall/"
    assert [app.name for app in TotpDevice.objects.all()] == [""]


def test_a_code_and_not_the_password_removes_one_in_an_old_session(stale, visitor, first, bob):
    tablet = add(visitor, "tablet")
    refused = stale.send("/account/apps/remove", id=row_of(bob), password=PASSWORD)
    assert (refused.status_code, "enter a code of your second factor" in words(refused)) == (403, True)
    assert stale.send("/account/apps/remove", id=row_of(bob), code=tablet.code(steps=1)).status_code == 303
    code = first.recovery_codes[0]
    assert stale.send("/account/apps/remove", id=row_of(bob, "tablet"), code=code).status_code == 303
    assert not TotpDevice.objects.exists()
    assert not RecoveryCode.objects.exists()


def test_names_are_shown_as_text(visitor, bob):
    TotpDevice.objects.update(name="<script>alert(1)</script>")

    assert "&lt;script&gt;alert(1)" in visitor.get("/account").text
