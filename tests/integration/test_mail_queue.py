"""The mail queue: retries, and mails that are given up."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import User
from accounts.sign_in import second_factor
from audit.models import SecurityEvent
from gatewall.agent import mail_sender
from gatewall.agent.mail_sender import MailSender
from gatewall.kernel.smtp import Sent
from tests.support.mail_server import PUBLIC_URL, kinds, send_due
from tests.support.second_factor import an_app
from webhooks.mail import letters, queue
from webhooks.models import DeliveryStatus, Mail, MailKind

pytestmark = pytest.mark.django_db


def failing(monkeypatch, sent):
    monkeypatch.setattr(mail_sender.smtp, "send", lambda *_, **__: sent)


def test_a_server_that_is_down_for_a_day_loses_nothing(mailbox, bob, clock, monkeypatch):
    an_app(bob)
    real = mail_sender.smtp.send
    failing(monkeypatch, Sent("the mail server cannot be reached", is_of_server=True))
    until = timezone.now() + timedelta(days=1)
    while timezone.now() < until:
        send_due()
        clock.shift(timedelta(minutes=20))
    assert Mail.objects.get().status == DeliveryStatus.WAITING
    assert 20 <= Mail.objects.get().attempts <= 40

    monkeypatch.setattr(mail_sender.smtp, "send", real)
    clock.shift(timedelta(hours=2))
    send_due()

    assert mailbox.subjects() == ["Second factor added"]
    assert Mail.objects.get().status == DeliveryStatus.DELIVERED


def test_after_three_days_it_is_given_up_with_an_event(mailbox, bob, clock, monkeypatch):
    an_app(bob)
    failing(monkeypatch, Sent("the mail server cannot be reached", is_of_server=True))
    for _ in range(90):
        send_due()
        clock.shift(timedelta(hours=1, minutes=15))

    mail = Mail.objects.get()
    assert (mail.status, mail.attempts) == (DeliveryStatus.FAILED, len(queue.SCHEDULE.delays) + 1)
    event = SecurityEvent.objects.get(kind="mail.failed")
    assert (event.user_name, event.detail["mail"], event.severity) == ("Bob", "factor-added", "medium")


def test_a_permanent_refusal_ends_as_an_event_at_once(mailbox, bob):
    mailbox.answer = lambda _: "550 5.1.1 no such mailbox"
    an_app(bob)
    send_due()

    assert (Mail.objects.get().status, Mail.objects.get().failure) == (
        DeliveryStatus.FAILED,
        "the mail server answered 550 5.1.1 to DATA",
    )
    assert SecurityEvent.objects.get(kind="mail.failed").detail["why"].startswith("the mail server answered 550")


def test_while_the_server_fails_one_mail_is_tried_and_the_others_wait(mailbox, alice, bob, monkeypatch):
    an_app(alice)
    an_app(bob)
    failing(monkeypatch, Sent("the mail server cannot be reached", is_of_server=True))
    sender = MailSender()
    send_due(sender)
    send_due(sender)
    assert sorted(Mail.objects.values_list("attempts", flat=True)) == [0, 1]

    sender._paused_until = time.monotonic()
    send_due(sender)
    assert sorted(Mail.objects.values_list("attempts", flat=True)) == [1, 1]
    assert sender._pause_seconds == 2 * mail_sender.PAUSES[0].total_seconds()


def test_a_mail_that_another_host_took_is_not_sent_twice_and_keeps_its_id(mailbox, bob, clock):
    an_app(bob)
    lost = queue.claim(timezone.now())
    assert queue.claim(timezone.now()) is None
    clock.shift(timedelta(minutes=3))
    send_due()
    queue.settle(lost, Sent("too late"), timezone.now())

    assert mailbox.mails[0]["Message-ID"] == f"<{lost.pk}@office.example>"
    assert Mail.objects.get().status == DeliveryStatus.DELIVERED


def test_a_full_queue_still_takes_invitations(mailbox, bob, monkeypatch):
    monkeypatch.setattr(queue, "MAX_WAITING", 1)
    an_app(bob)
    second_factor.switch_off_app(bob, actor="alice")
    queue.put([Mail(kind=MailKind.INVITATION, user=bob, at=timezone.now())])

    assert kinds() == [MailKind.FACTOR_ADDED, MailKind.INVITATION]


def test_old_mails_are_deleted(mailbox, bob, clock):
    an_app(bob)
    clock.shift(timedelta(days=30, seconds=1))

    assert (queue.prune(timezone.now()), Mail.objects.count()) == (1, 0)


@pytest.mark.parametrize("address", ["bob@office.example\r\nBcc: all@office.example", "bob\x01@x", "b o b@x", "bob"])
def test_an_impossible_address_that_is_stored_adds_no_header(mailbox, bob, address):
    an_app(bob)
    User.objects.filter(pk=bob.pk).update(email=address)
    send_due()

    assert all("Bcc" not in mail for mail in mailbox.mails)
    assert Mail.objects.get().status == DeliveryStatus.FAILED


def test_no_mail_header_accepts_a_line_break(mailbox, bob, settings):
    mail = Mail(kind=MailKind.PASSWORD_RESET, user=bob, at=timezone.now())
    bob.username = "Bob\r\nBcc: all@office.example"
    with pytest.raises(ValueError, match=r"(?i)header|newline|cr|lf|invalid"):
        letters.write(mail, link=PUBLIC_URL)
