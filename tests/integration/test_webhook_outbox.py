"""The outbox of webhooks: claims of deliveries, limits, and retention."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from audit.models import SecurityEvent
from gatewall.kernel.posting import Posted
from gatewall.policy import system_settings
from tests.support.receiver import a_webhook, outcomes
from webhooks import delivering, incidents, outbox
from webhooks.models import Delivery
from webhooks.retrying import LEASE

pytestmark = pytest.mark.django_db


def tell(number=0):
    """Record an event of a kind that causes a notice each time, without an incident."""
    record_event(Event(EventKind.TWO_FACTOR_RECOVERED, detail={"actor": f"admin{number}"}))


def test_two_hosts_send_a_notice_once(clock):
    a_webhook()
    tell()

    first, second = (outbox.claim(timezone.now(), busy=()) for _ in range(2))

    assert (len(first), second) == (1, [])


def test_a_claimed_delivery_is_sent_again_under_the_same_id_after_its_lease(clock):
    a_webhook()
    tell()
    [lost] = outbox.claim(timezone.now(), busy=())
    clock.shift(LEASE + timedelta(seconds=1))
    [again] = outbox.claim(timezone.now(), busy=())
    assert again.delivery.notice.message_id == lost.delivery.notice.message_id

    delivering.settle(lost, Posted(500), timezone.now())  # too late: the claim has expired
    delivering.settle(again, Posted(200), timezone.now())

    assert outcomes() == [("two-factor.recovered", "delivered", 2, 200)]


def test_a_webhook_has_one_attempt_at_a_time(clock):
    webhook = a_webhook()
    tell()
    tell(1)

    assert len(outbox.claim(timezone.now(), busy=())) == 1
    assert outbox.claim(timezone.now(), busy=[webhook.pk]) == []
    assert len(outbox.claim(timezone.now(), busy=())) == 1


def test_notices_to_a_webhook_are_limited_per_hour(clock):
    system_settings.change(actor="alice", webhook_notices_per_hour=3)
    webhook = a_webhook()
    for number in range(5):
        tell(number)

    webhook.refresh_from_db()
    assert (Delivery.objects.count(), webhook.left_out) == (3, 2)
    clock.shift(timedelta(hours=1))
    tell(9)
    assert Delivery.objects.count() == 4


def test_the_size_of_the_outbox_is_limited(clock, monkeypatch):
    monkeypatch.setattr(outbox, "MAX_WAITING", 2)
    webhook = a_webhook()
    for number in range(4):
        tell(number)

    webhook.refresh_from_db()
    assert (Delivery.objects.count(), webhook.left_out) == (2, 2)


def test_only_old_deliveries_are_deleted(clock):
    a_webhook()
    tell()
    clock.shift(timedelta(days=20))
    tell(1)
    clock.shift(timedelta(days=11))

    assert outbox.prune(timezone.now()) > 0
    assert outbox.prune(timezone.now()) == 0
    assert Delivery.objects.count() == 1


def test_a_notice_is_in_the_transaction_of_its_event(clock):
    a_webhook()
    with transaction.atomic():
        tell()
        assert Delivery.objects.count() == 1
        transaction.set_rollback(True)

    assert (Delivery.objects.count(), SecurityEvent.objects.filter(kind="two-factor.recovered").count()) == (0, 0)


def test_the_notice_of_an_open_incident_is_kept_until_its_end(clock):
    a_webhook()
    system_settings.change(actor="alice", webhook_retention_days=1)
    until = timezone.now() + timedelta(days=3)
    banned = {"detector": "brute-force", "expires_at": until.isoformat()}
    record_event(Event(EventKind.CLIENT_BANNED, client_ip="203.0.113.7", detail=banned))
    clock.shift(timedelta(days=2))
    outbox.prune(timezone.now())
    clock.shift(timedelta(days=1))
    incidents.close_ended(timezone.now())

    assert [kind for kind, *_ in outcomes()] == ["client.banned", "client.banned.ended"]
    clock.shift(timedelta(days=2))
    outbox.prune(timezone.now())
    assert outcomes() == []


def test_a_delivery_postponed_before_a_clock_was_set_back_is_sent(clock):
    a_webhook()
    clock.shift(timedelta(days=400))
    tell()
    [claimed] = outbox.claim(timezone.now(), busy=())
    delivering.settle(claimed, Posted(500), timezone.now())
    clock.shift(timedelta(days=-400))

    assert len(outbox.claim(timezone.now(), busy=())) == 1
    assert outbox.claim(timezone.now(), busy=()) == []


def test_notices_from_before_a_clock_was_set_back_do_not_use_up_the_limit(clock):
    a_webhook()
    system_settings.change(actor="alice", webhook_notices_per_hour=1)
    clock.shift(timedelta(days=400))
    tell()
    clock.shift(timedelta(days=-400))
    tell(1)

    assert len(outcomes()) == 2
