"""The agent's thread that sends webhooks, and resealing of their secrets when keys are rotated."""

import threading
import time

import pytest
from django.db import OperationalError
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.agent import loop
from gatewall.agent.webhook_sender import WebhookSender
from gatewall.install import key_rotation
from tests.support.key_files import NAMES
from tests.support.receiver import a_webhook, outcomes, receiving
from webhooks import delivering, incidents, selectors, services
from webhooks.models import Webhook


def wait_until(condition, seconds=10):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    assert condition()


@pytest.mark.django_db(transaction=True)
def test_the_thread_sends_until_its_block_ends(monkeypatch):
    monkeypatch.setattr(WebhookSender, "every_seconds", 0.05)
    with receiving() as receiver:
        a_webhook(receiver.url)
        sender = WebhookSender()
        with sender.running():
            record_event(Event(EventKind.TWO_FACTOR_RECOVERED))
            wait_until(lambda: outcomes() == [("two-factor.recovered", "delivered", 1, 204)])
            sender.keep_going()
        assert not sender._thread.is_alive()
        record_event(Event(EventKind.TWO_FACTOR_RECOVERED))
        sender.keep_going()
        assert not sender._thread.is_alive()


@pytest.mark.django_db(transaction=True)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_ends_the_thread_and_it_begins_again(monkeypatch):
    monkeypatch.setattr(WebhookSender, "every_seconds", 0.05)
    sender = WebhookSender()
    with monkeypatch.context() as patch:
        patch.setattr(incidents, "close_ended", lambda _: 1 / 0)
        with sender.running():
            wait_until(lambda: not sender._thread.is_alive())
            patch.undo()
            sender.keep_going()
            assert sender._thread.is_alive()


@pytest.mark.django_db
def test_a_database_failure_is_logged_once_and_survived(monkeypatch, caplog):
    sender = WebhookSender()

    def broken(at):
        raise OperationalError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(loop, "close_old_connections", lambda: None)
        patch.setattr(incidents, "close_ended", broken)
        sender.turn()
        sender.turn()
    assert sender.problem == "webhook notices are not sent (OperationalError)"
    assert [record.getMessage() for record in caplog.records] == [
        "agent: webhook notices are not sent (OperationalError)"
    ]
    sender.turn()
    assert sender.problem == ""


@pytest.mark.django_db
def test_rotating_keys_reseals_the_secrets_of_webhooks(installation, settings):
    settings.GATEWALL_DATA_KEYS = installation.data
    webhook, _ = services.create_webhook(actor="alice", name="pager", url="https://receiver.example/")
    services.rotate_secret(webhook, actor="alice")
    before = Webhook.objects.get()
    known = [selectors.opened(before, text) for text in (before.sealed_secret, before.sealed_previous)]

    files = {name: installation.folder / file for name, file in NAMES.items()}
    lines = key_rotation.replace_compromised(files, timezone.now())

    settings.GATEWALL_DATA_KEYS = installation.data
    after = Webhook.objects.get()
    assert after.sealed_secret != before.sealed_secret
    assert [selectors.opened(after, text) for text in (after.sealed_secret, after.sealed_previous)] == known
    assert None not in known
    assert "secrets of webhooks: 1 re-sealed" in lines
    assert "previous secrets of webhooks: 1 re-sealed" in lines


def ended(name):
    """Wait for the threads of this name: one that ends by a bug logs it after it has reported its outcome."""
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join(5)


@pytest.mark.django_db
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_in_an_attempt_is_a_failure_and_frees_the_webhook(monkeypatch, clock):
    a_webhook()
    record_event(Event(EventKind.TWO_FACTOR_RECOVERED))
    sender = WebhookSender()
    with monkeypatch.context() as patch:
        patch.setattr(delivering, "post", lambda *_, **__: 1 / 0)
        sender.turn()
        sender.wait(5)
        ended("webhook")

    assert sender._busy == set()
    assert outcomes() == [("two-factor.recovered", "waiting", 1, None)]
    assert Webhook.objects.get().failure == "the attempt ended by a bug"
