"""Concurrent writes to webhooks and their outboxes do not deadlock."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event as Flag
from time import sleep

import pytest
from django.db import connection, transaction
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.kernel.posting import Posted
from tests.support.receiver import a_webhook
from webhooks import delivering, outbox, services
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("status", [200, 500])
def test_recording_an_attempt_while_its_notice_is_resent_does_not_deadlock(status):
    webhook, held = a_webhook(), Flag()
    record_event(Event(EventKind.TWO_FACTOR_RECOVERED))
    [claimed] = outbox.claim(timezone.now(), busy=())

    def note():
        try:
            held.wait(10)
            delivering.settle(claimed, Posted(status), timezone.now())
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            services._enabled(webhook.pk)  # as services.resend() does first
            held.set()
            noting = pool.submit(note)
            sleep(0.5)
            outbox.send_again(Delivery.objects.get())
        noting.result(20)

    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.attempts) == ("waiting", 0)
