"""A change with a requested confirmation: it is reverted unless it is confirmed in time."""

from datetime import timedelta
from ipaddress import ip_address

import pytest
from django.db import transaction
from django.utils import timezone

from gatewall.engine.hosts import Host
from gatewall.kernel import changes
from gatewall.kernel.clientip import Caller
from gatewall.models import PendingConfirmation
from gatewall.policy import revisions
from policies import services
from policies.history import confirmation, lockout
from policies.models import BlocklistEntry

pytestmark = pytest.mark.django_db

CALLER = Caller(ip_address("198.51.100.7"), Host("office.example"))


@revisions.one_at_a_time
def block(network, *, seconds, caller=CALLER, **how):
    """Block a network in a change that waits for its confirmation."""
    before = revisions.current().revision
    services.block_network(actor="alice", network=network, caller=caller, **how)
    confirmation.ask_for_confirmation(before, caller, seconds=seconds)


def later(seconds):
    return confirmation.revert_overdue(timezone.now() + timedelta(seconds=seconds))


def test_a_change_that_asks_is_reverted_unless_it_is_confirmed():
    block("203.0.113.1", seconds=30)

    (waiting,) = confirmation.pending()
    assert (waiting.cause, waiting.actor, waiting.address) == (PendingConfirmation.ASKED, "alice", "198.51.100.7")
    assert revisions.confirm_by() == waiting.deadline
    assert later(25) == 0
    assert later(31) == 1
    assert not BlocklistEntry.objects.exists()


def test_a_confirmed_change_stays():
    block("203.0.113.1", seconds=30)
    confirmation.confirm(revisions.current().revision, actor="bob")

    assert later(31) == 0
    assert BlocklistEntry.objects.exists()


def test_a_command_has_no_address():
    block("203.0.113.1", seconds=30, caller=None)

    assert confirmation.pending().get().address == ""


def test_a_lock_out_keeps_its_cause_and_the_earlier_deadline():
    block(str(CALLER.address), seconds=3600, force=True)

    (waiting,) = confirmation.pending()
    assert waiting.cause == PendingConfirmation.LOCK_OUT
    assert waiting.deadline - waiting.made_at <= timedelta(minutes=5)

    confirmation.revert(waiting.revision, actor="bob")
    block(str(CALLER.address), seconds=30, force=True)
    (waiting,) = confirmation.pending()
    assert waiting.deadline - waiting.made_at <= timedelta(seconds=30)


def test_a_block_without_a_change_waits_for_no_confirmation():
    with transaction.atomic():
        confirmation.ask_for_confirmation(revisions.current().revision, CALLER, seconds=30)

    assert not confirmation.pending().exists()


def test_a_change_of_too_many_objects_to_be_reverted_is_refused(monkeypatch):
    monkeypatch.setattr(changes, "MAX_CHANGES", 0)

    with pytest.raises(confirmation.TooLargeToRevert):
        block("203.0.113.1", seconds=30)
    assert not BlocklistEntry.objects.exists()


def test_the_lockout_guard_ignores_a_change_that_waits_for_its_requested_confirmation():
    block("203.0.113.1", seconds=30)

    assert not lockout.stays_refused(CALLER)
