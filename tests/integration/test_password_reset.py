"""Password reset requests: an equal reply for every account, and a mail to the owner."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import AccountLink, User
from tests.support.mail_server import PUBLIC_URL, kinds, send_due
from tests.support.proxies import Api, a_token
from tests.support.visitor import Visitor
from webhooks.mail import queue
from webhooks.models import MailKind

pytestmark = pytest.mark.django_db


def ask_reset(account, **headers):
    response = Api(**headers).post("/password-reset", {"account": account})
    assert response.status_code == 202, response.content
    return response


def test_the_reply_is_the_same_for_everybody_and_only_the_owner_gets_a_mail(mailbox, bob):
    User.objects.create(username="nomail", password="x")
    User.objects.create(username="gone", password="x", email="gone@office.example", is_active=False)
    replies = {ask_reset(each).content for each in ("bob", "BOB@office.example", "nobody", "nomail", "gone", "x y")}
    send_due()

    assert len(replies) == 1
    assert mailbox.recipients == ["bob@office.example"]  # of two waiting mails only the newest
    assert kinds() == [MailKind.PASSWORD_RESET]  # a mail without a recipient is deleted


def test_known_and_unknown_accounts_cause_the_same_statements(mailbox, bob):
    from django.db import connection  # noqa: PLC0415 - after the fixtures
    from django.test.utils import CaptureQueriesContext  # noqa: PLC0415

    shapes = []
    ask_reset("somebody")  # the first request of a process also reads the settings
    for account in ("bob", "nobody", "bob@office.example", "nobody@office.example"):
        with CaptureQueriesContext(connection) as captured:
            ask_reset(account)
        shapes.append([re.sub(r"'[^']*'|\d+|NULL", "?", query["sql"]) for query in captured])

    verbs = [[sql.partition(" WHERE ")[0] for sql in shape] for shape in shapes]
    assert verbs[1:] == verbs[:-1]


def test_two_accounts_with_one_address_get_a_mail_each_that_names_the_account(mailbox, alice, bob):
    User.objects.update(email="family@office.example")
    ask_reset("family@office.example")
    send_due()

    assert mailbox.recipients == ["family@office.example"] * 2
    assert sorted(mailbox.subjects()) == ["A new password for Bob", "A new password for alice"]
    assert len(set(mailbox.links())) == 2


def test_at_most_three_an_hour_are_sent_to_one_account(mailbox, bob, clock):
    for number in range(6):
        ask_reset("bob", **{"X-Forwarded-For": f"203.0.113.{number}"})
        send_due()
        clock.shift(timedelta(minutes=1))

    assert len(mailbox.mails) == queue.RESETS_PER_HOUR


def test_too_many_reset_requests_are_delayed_and_lock_nobody_out(mailbox, bob):
    for _ in range(9):
        ask_reset("bob")
    refused = [Api().post("/password-reset", {"account": "bob"}) for _ in range(2)][-1]

    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-attempts")
    assert int(refused.headers["Retry-After"]) > 0
    assert Visitor().sign_in().status_code == 303
    assert Api().post("/password-reset", {"account": "other"}).status_code == 202


def test_without_mail_the_error_refers_to_the_administrator(bob):
    reply = Api().post("/password-reset", {"account": "bob"})

    assert (reply.status_code, reply.json()["code"]) == (409, "mail-not-configured")
    assert "ask your administrator" in reply.json()["detail"]


def test_a_link_expires_from_its_sending_and_a_second_mail_replaces_the_first(mailbox, bob, clock):
    ask_reset("bob")
    clock.shift(timedelta(hours=20))
    send_due()
    assert AccountLink.objects.get().expires_at == timezone.now() + timedelta(minutes=30)
    ask_reset("bob")
    send_due()

    visitor = Visitor()
    first, second = (link.removeprefix(f"{PUBLIC_URL}/wall") for link in mailbox.links())
    assert (visitor.get(first).status_code, visitor.get(second).status_code) == (410, 200)


def test_a_reset_request_ends_no_session(mailbox, bob):
    token = a_token(bob)
    ask_reset("bob")
    send_due()

    assert Api(token).get("/session").status_code == 200
