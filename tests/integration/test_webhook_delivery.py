"""Webhook delivery to receivers that accept, fail, hang, redirect or are gone."""

import json
import threading
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from audit.models import SecurityEvent
from gatewall.agent.webhook_sender import WebhookSender
from gatewall.models import PolicyRevision
from tests.support.cast import MOMENT
from tests.support.receiver import a_webhook, is_signed, outcomes, receiving, send_due
from webhooks import delivering, outbox, services
from webhooks.models import Delivery, Notice, Webhook

pytestmark = pytest.mark.django_db


def tell(number=0):
    """Record an event of a kind that causes a notice each time, without an incident."""
    record_event(Event(EventKind.TWO_FACTOR_RECOVERED, detail={"actor": f"admin{number}"}))


@pytest.fixture
def receiver():
    with receiving() as receiver:
        yield receiver


def test_a_notice_is_signed_and_sent_once(receiver, clock):
    webhook, secret = services.create_webhook(actor="alice", name="pager", url=receiver.url, allow_private=True)
    tell()

    send_due()
    send_due()

    [(path, headers, body)] = receiver.got
    assert path == "/hook"
    assert is_signed(secret, headers, body)
    assert headers["content-type"] == "application/json"
    assert headers["webhook-timestamp"] == str(int(MOMENT.timestamp()))
    assert headers["webhook-id"] == Notice.objects.get().message_id
    said = json.loads(body)
    assert (said["type"], said["timestamp"]) == ("two-factor.recovered", "2026-03-14T09:26:53.000000Z")
    assert said["data"]["detail"] == {"actor": "admin0"}
    assert outcomes() == [("two-factor.recovered", "delivered", 1, 204)]
    webhook.refresh_from_db()
    assert (webhook.succeeded_at, webhook.failing_since) == (MOMENT, None)


def test_during_a_rotation_notices_are_signed_with_both_secrets(receiver, clock):
    webhook, old = services.create_webhook(actor="alice", name="pager", url=receiver.url, allow_private=True)
    _, new = services.rotate_secret(webhook, actor="alice")
    tell()
    send_due()
    clock.shift(services.ROTATION)
    tell(1)
    send_due()

    signed = [[is_signed(secret, headers, body) for secret in (old, new)] for _, headers, body in receiver.got]
    assert signed == [[True, True], [False, True]]


def test_a_secret_is_sealed_and_opens_only_in_its_own_row(receiver):
    webhook, secret = services.create_webhook(actor="alice", name="pager", url=receiver.url, allow_private=True)
    other = a_webhook(receiver.url, name="other")
    Webhook.objects.filter(pk=webhook.pk).update(sealed_secret=other.sealed_secret)
    tell()
    send_due()

    assert secret not in webhook.sealed_secret
    assert len(receiver.got) == 1
    failed = Delivery.objects.get(webhook=webhook)
    assert (failed.status, failed.failure) == (
        "waiting",
        "the secret cannot be decrypted: GATEWALL_DATA_KEYS does not contain its key",
    )


def test_a_notice_is_tried_again_for_a_day_with_growing_waits_under_the_same_id(clock):
    with receiving(status=500) as receiver:
        a_webhook(receiver.url)
        tell()
        waits = []
        while Delivery.objects.get().status == "waiting":
            send_due()
            row = Delivery.objects.get()
            if row.next_at:
                waits.append(row.next_at - timezone.now())
                clock.move_to(row.next_at)

    assert len(waits) == len(outbox.RETRIES)
    for wait, usual in zip(waits, outbox.RETRIES, strict=True):
        assert usual * 0.8 <= wait <= usual * 1.2
    assert sum(outbox.RETRIES, timedelta()) > timedelta(hours=22)
    assert {headers["webhook-id"] for _, headers, _ in receiver.got} == {Notice.objects.get().message_id}
    assert outcomes() == [("two-factor.recovered", "failed", len(outbox.RETRIES) + 1, 500)]


def test_a_dead_letter_is_kept_and_can_be_sent_again(receiver, clock):
    a_webhook(receiver.url)
    tell()
    delivery = Delivery.objects.get()
    Delivery.objects.update(status="failed", next_at=None, attempts=8, failure="the answer was 500")
    send_due()
    assert receiver.got == []

    services.resend(delivery)
    send_due()

    assert outcomes() == [("two-factor.recovered", "delivered", 1, 204)]
    assert receiver.got[0][1]["webhook-id"] == delivery.notice.message_id


def test_a_webhook_whose_receiver_is_gone_is_disabled_with_an_event():
    with receiving(status=410) as receiver:
        webhook = a_webhook(receiver.url)
        tell()
        tell(1)
        send_due()

    webhook.refresh_from_db()
    assert not webhook.enabled
    assert len(receiver.got) == 1
    assert [status for _, status, *_ in outcomes()] == ["failed", "failed"]
    event = SecurityEvent.objects.get(kind="webhook.disabled")
    assert event.detail == {"webhook": webhook.pk, "name": "pager", "why": "gone"}
    assert PolicyRevision.objects.latest("number").actor == "webhooks"


def test_a_webhook_whose_receiver_fails_for_days_is_disabled(clock):
    with receiving(status=503) as receiver:
        webhook = a_webhook(receiver.url)
        tell()
        send_due()
        clock.shift(delivering.DISABLED_AFTER - timedelta(seconds=1))
        send_due()
        webhook.refresh_from_db()
        assert webhook.enabled
        Delivery.objects.update(next_at=timezone.now())
        clock.shift(2)
        send_due()

    webhook.refresh_from_db()
    assert not webhook.enabled
    assert SecurityEvent.objects.get(kind="webhook.disabled").detail["why"] == "failing"


def test_one_success_resets_the_days_of_failure(receiver, clock):
    webhook = a_webhook(receiver.url)
    Webhook.objects.update(failing_since=MOMENT - timedelta(days=9), failure="no answer")
    tell()
    send_due()

    webhook.refresh_from_db()
    assert (webhook.enabled, webhook.failing_since, webhook.failure) == (True, None, "")


def test_a_redirect_is_a_failure_and_never_followed(receiver):
    with receiving(status=302, headers={"Location": receiver.url}) as first:
        a_webhook(first.url)
        tell()
        send_due()

    assert (len(first.got), receiver.got) == (1, [])
    assert outcomes() == [("two-factor.recovered", "waiting", 1, 302)]


def hang(handler, over):
    over.wait(20)


def dribble(handler, over):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not over.wait(0.05):
        try:
            handler.wfile.write(b"X-A: b\r\n")
        except OSError:
            return


def flood(handler, over):
    handler.send_response(200)
    handler.end_headers()
    while not over.is_set():
        try:
            handler.wfile.write(b"x" * 65536)
        except OSError:
            return


@pytest.mark.parametrize("answer", [hang, dribble], ids=["hangs", "dribbles"])
def test_an_endless_response_of_a_receiver_is_abandoned(answer, monkeypatch):
    monkeypatch.setattr(delivering, "SECONDS", 0.5)
    with receiving(answer=answer) as receiver:
        a_webhook(receiver.url)
        tell()
        began = time.monotonic()
        send_due()

    assert time.monotonic() - began < 4
    assert outcomes() == [("two-factor.recovered", "waiting", 1, None)]
    assert Delivery.objects.get().failure in {"no answer in time", "no answer within 0.5 s"}


def test_the_body_of_an_answer_is_not_read():
    with receiving(answer=flood) as receiver:
        a_webhook(receiver.url)
        tell()
        send_due()

    assert outcomes() == [("two-factor.recovered", "delivered", 1, 200)]


def test_a_receiver_that_hangs_delays_no_other(receiver, monkeypatch):
    with receiving(answer=hang) as slow:
        a_webhook(slow.url, name="a slow one")
        a_webhook(receiver.url, name="fast")
        for number in range(5):
            tell(number)
        notifier = WebhookSender()
        until = time.monotonic() + 5
        while len(receiver.got) < 5 and time.monotonic() < until:
            notifier.turn()
            notifier.wait(0.2)

        assert len(receiver.got) == 5
        assert len(slow.got) == 1  # one at a time, for any number of waiting notices
        threads = [thread for thread in threading.enumerate() if thread.name == "webhook"]
        assert all(thread.daemon for thread in threads)
        slow.over.set()
        for thread in threads:
            thread.join(5)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://127.0.0.1/hook", "127.0.0.1 is not a public address"),
        ("https://[::1]/hook", "::1 is not a public address"),
        ("https://localhost/hook", "localhost has an address that is not public"),
        ("https://[64:ff9b::7f00:1]/hook", "64:ff9b::7f00:1 is not a public address"),
        ("http://receiver.example/hook", "only https URLs are allowed"),
    ],
)
def test_a_private_address_is_not_connected_to(url, words):
    webhook = a_webhook()
    Webhook.objects.filter(pk=webhook.pk).update(url=url)  # refused when it is written; names change later
    tell()
    send_due()

    assert outcomes() == [("two-factor.recovered", "waiting", 1, None)]
    assert Delivery.objects.get().failure == words


def test_a_refused_connection_is_a_failure():
    with receiving() as receiver:
        url = receiver.url
    a_webhook(url)
    tell()
    send_due()

    assert Delivery.objects.get().failure == "Connection refused"
