"""Mails to users about their accounts: the events that send one, and its text."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import services
from accounts.models import User
from accounts.sign_in import second_factor, wrong_codes
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.policy import system_settings
from tests.support.mail_server import PUBLIC_URL, kinds, send_due
from tests.support.mailbox import body_of
from tests.support.proxies import PASSWORD, Api, a_token
from tests.support.second_factor import an_app
from tests.support.visitor import Visitor
from webhooks.mail import queue
from webhooks.models import Mail, MailKind

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def test_a_changed_password_is_mailed_to_its_owner_with_advice(mailbox, bob):
    visitor = Visitor()
    visitor.sign_in()
    visitor.send("/account/password", {"X-Forwarded-For": "203.0.113.7"}, current=PASSWORD, new=f"{PASSWORD} new")
    send_due()

    [mail] = mailbox.mails
    text, page = mailbox.texts()[0], body_of(mail, "html")
    assert (mail["To"], mail["From"]) == ("Bob <bob@office.example>", "Gatewall <gatewall@office.example>")
    assert mail["Subject"] == "Password changed"
    assert mail["Auto-Submitted"] == "auto-generated"
    for words in (text, page):
        assert "The password of your account Bob at wall.office.example was changed." in words
        assert "Address: 203.0.113.7." in words
        assert "Was this you?" in words
        assert f"{PUBLIC_URL}/wall/account" in words


def test_html_mails_load_no_external_content_and_escape_settings(mailbox, bob):
    system_settings.change(actor="alice", contact='<script>"x"</script> https://help.example')
    an_app(bob)
    send_due()

    [page] = [body_of(mail, "html") for mail in mailbox.mails]
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert re.search(r"(?i)<(img|link|iframe|form|video)|src=|url\(|@import|@font-face", page) is None
    assert set(re.findall(r'href="([^"]+)"', page)) == {f"{PUBLIC_URL}/wall/account"}


def test_adding_and_removing_an_authenticator_app_is_mailed(mailbox, bob):
    an_app(bob)
    second_factor.switch_off_app(bob, actor="alice", client_ip="203.0.113.7")
    send_due()

    assert mailbox.subjects() == ["Second factor added", "Second factor removed"]
    assert "Address: 203.0.113.7." in mailbox.texts()[1]


def test_adding_and_removing_a_passkey_is_mailed(mailbox, bob):
    for kind in (EventKind.PASSKEY_ADDED, EventKind.PASSKEY_REMOVED):
        record_event(Event(kind, client_ip="203.0.113.7", user=bob, detail={"passkey": "laptop"}))

    assert kinds() == [MailKind.FACTOR_ADDED, MailKind.FACTOR_REMOVED]


@pytest.mark.parametrize(
    ("kind", "subject"),
    [(EventKind.IDENTITY_LINKED, "Account linked"), (EventKind.IDENTITY_UNLINKED, "Account unlinked")],
)
def test_linking_and_unlinking_an_identity_is_mailed(mailbox, bob, kind, subject):
    record_event(Event(kind, client_ip="203.0.113.7", user=bob, detail={"provider": "corp"}))
    send_due()

    assert mailbox.subjects() == [subject]
    assert "An account at corp was " in mailbox.texts()[0]
    assert "Address: 203.0.113.7." in mailbox.texts()[0]


@pytest.mark.parametrize("by_admin", [True, False])
def test_the_mail_about_a_password_changed_over_the_api_has_the_address(mailbox, bob, alice, by_admin):
    Visitor().sign_in()
    bob = User.objects.get(pk=bob.pk)
    client = Api(a_token(alice if by_admin else bob), **{"X-Forwarded-For": "203.0.113.7"})
    body = {"new_password": f"{PASSWORD} new", "current_password": PASSWORD}
    assert client.put(f"/users/{bob.pk}/password", body).status_code == 200
    send_due()

    assert "Address: 203.0.113.7." in mailbox.texts()[-1]


def test_ten_wrong_codes_are_one_mail(mailbox, bob, clock):
    app, visitor = an_app(bob), Visitor()
    Mail.objects.all().delete()
    for code in app.wrong_codes(wrong_codes.ENDS_CHALLENGES):
        challenge = re.search(r'name="challenge" value="([^"]+)"', visitor.sign_in().text)[1]
        visitor.send("/second-factor", challenge=challenge, code=code)
        clock.shift(timedelta(hours=1))

    assert kinds() == [MailKind.WRONG_CODES]
    send_due()
    assert "entered a wrong code 10 times in a row" in mailbox.texts()[0].replace("\n", " ")


def test_a_sign_in_from_a_new_browser_is_mailed_and_from_a_known_one_is_not(mailbox, bob):
    first = Visitor(**{"User-Agent": FIREFOX})
    first.sign_in()
    first.sign_in()
    assert kinds() == []  # the first sign-in of the account, and then the same browser

    attacker = Visitor(**{"User-Agent": FIREFOX, "X-Forwarded-For": "203.0.113.66"})
    attacker.sign_in()
    attacker.sign_in()
    moved = Visitor(**{"User-Agent": FIREFOX, "X-Forwarded-For": "198.51.100.200"})
    moved.client.cookies = first.client.cookies
    moved.sign_in()

    assert kinds() == [MailKind.NEW_DEVICE]
    send_due()
    assert "Address: 203.0.113.66. Program: Firefox, Linux." in mailbox.texts()[0]


def test_a_program_without_cookies_is_known_by_its_network(mailbox, bob):
    for address in ("127.0.0.1", "127.0.0.1", "203.0.113.66", "203.0.113.66"):
        headers = {"X-Forwarded-For": address, "User-Agent": "backup/1.0 https://evil.example"}
        assert Api(**headers).post("/login", {"username": "Bob", "password": PASSWORD}).status_code == 200

    assert kinds() == [MailKind.NEW_DEVICE]
    send_due()
    assert "evil" not in mailbox.texts()[0]


def test_the_browser_cookie_of_one_user_is_not_valid_for_another(mailbox, bob, alice):
    visitor = Visitor()
    visitor.sign_in()
    name, _, digest = visitor.client.cookies["gatewall.browser"].value.partition(".")
    assert name == str(bob.pk)
    cookie = visitor.client.cookies["gatewall.browser"]
    assert (cookie["path"], cookie["httponly"], cookie["domain"]) == ("/wall/", True, "")

    services.change_user(alice, actor="alice", remark="has signed in")
    User.objects.filter(pk=alice.pk).update(last_login_at=timezone.now())
    forger = Visitor(**{"X-Forwarded-For": "203.0.113.66"})
    forger.client.cookies["gatewall.browser"] = f"{alice.pk}.{digest}~{'9' * 40}.x~~."
    forger.sign_in("alice")

    assert kinds() == [MailKind.NEW_DEVICE]


def test_no_address_no_setting_or_no_server_is_no_mail(mailbox, bob, settings):
    User.objects.filter(pk=bob.pk).update(email="")
    an_app(User.objects.get(pk=bob.pk))
    User.objects.filter(pk=bob.pk).update(email="bob@office.example")
    system_settings.change(actor="alice", account_notices=False)
    second_factor.switch_off_app(User.objects.get(pk=bob.pk), actor="alice")
    system_settings.change(actor="alice", account_notices=True)
    settings.GATEWALL_MAIL_SERVER = None
    an_app(User.objects.get(pk=bob.pk))

    assert kinds() == []


def test_every_mail_is_in_chinese_too(mailbox, bob):
    system_settings.change(actor="alice", mail_language="zh-hans")
    detail = {"client_ip": "203.0.113.7", "user_agent": FIREFOX, "wrong_codes": 10, "choose_username": True}
    queue.put(Mail(kind=kind, user=bob, at=timezone.now(), detail=detail) for kind in MailKind)
    send_due()

    assert len(mailbox.mails) == len(MailKind)
    for mail in mailbox.mails:
        text = body_of(mail, "plain")
        assert re.search(r"[\u4e00-\u9fff]", str(mail["Subject"]))
        for line in filter(None, text.splitlines()):
            assert "://" in line or line.startswith(("--", "wall.")) or re.search(r"[\u4e00-\u9fff]", line), line
        assert 'lang="zh-hans"' in body_of(mail, "html")
