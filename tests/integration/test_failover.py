"""A failover loses a change whose number is reused by another one: no process confirms the lost history."""

import logging

import pytest
from django.conf import settings
from django.db import OperationalError

from accounts import services
from accounts.models import Session
from gatewall.models import PolicyRevocation, PolicySegment
from gatewall.policy import revisions
from gatewall.publication.standby import Standby
from gatewall.publication.store import DatabasePolicyStore
from gatewall.snapshot.files import PolicyFiles
from gatewall.snapshot.holder import PolicyHolder
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.snapshot.published import LastPublished
from tests.integration.test_fast_clocks import a_session
from tests.support.cast import MOMENT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _elsewhere():
    """Treat changes as made on another host: no process of this one is notified."""
    before = list(revisions._hook)
    revisions.call_after_commit(lambda _version: True)
    yield
    revisions.call_after_commit(*before)


@pytest.fixture
def files() -> PolicyFiles:
    return policy_files(settings.CONFIG)


@pytest.fixture
def outage():
    def away():
        raise OperationalError("away")

    with pytest.MonkeyPatch.context() as patch:
        yield lambda: patch.setattr("gatewall.policy.revisions.current", away), patch.undo


class Failover:
    """A failover: revocation 1 is of one session before it, and of the other one after it."""

    def __init__(self, user):
        self.lost, self.kept = a_session(user), a_session(user)
        services.revoke_session(self.lost.pk, at=MOMENT)

    def happens(self):
        Session.objects.filter(pk=self.lost.pk).update(revoked_at=None)
        Session.objects.filter(pk=self.kept.pk).update(revoked_at=MOMENT)
        PolicyRevocation.objects.all().delete()
        PolicyRevocation.objects.create(number=1)
        PolicySegment.objects.filter(name="revocations").update(change="5b1c3f0e-0000-4000-8000-000000000001")


@pytest.fixture
def failover(alice):
    return Failover(alice)


def test_a_standby_does_not_confirm_a_lost_history(files, failover, outage, caplog):
    standby = Standby(files, run_folder(settings.CONFIG.home))
    standby.turn()
    outage[0]()
    standby.turn()
    failover.happens()
    outage[1]()
    before = files.confirmations.last()

    with caplog.at_level(logging.ERROR):
        standby.turn()
        standby.turn()

    assert files.confirmations.last() == before
    assert "DatabaseWentBack" in caplog.text


def a_holder(files):
    return PolicyHolder(DatabasePolicyStore(files), confirmed=LastPublished(files).confirmed_at)


def test_the_control_plane_does_not_confirm_a_lost_history(files, failover, outage):
    Standby(files, run_folder(settings.CONFIG.home)).turn()
    holder = a_holder(files)
    holder.current()
    outage[0]()
    holder.current()
    failover.happens()
    outage[1]()
    before = holder._confirmed_at

    holder.current()
    holder.current()

    assert holder._confirmed_at == before


def test_a_control_plane_that_alone_saw_the_lost_revocation_takes_the_restored_rows(files, failover, outage):
    holder = a_holder(files)
    holder.current()
    outage[0]()
    holder.current()
    failover.happens()
    outage[1]()

    assert holder.current().revoked_sessions == {str(failover.kept.pk)}
