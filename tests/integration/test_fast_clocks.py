"""An ended session stays ended, even if the clock of a host that compiles the policy or prunes rows is wrong."""

import uuid
from datetime import timedelta

import pytest
import time_machine
from django.conf import settings

from accounts import policy_source, selectors, services
from accounts.models import Session
from gatewall.agent import housekeeping
from gatewall.publication.publisher import publish
from gatewall.snapshot.host_paths import policy_files
from gatewall.snapshot.published import PublishedPolicies
from tests.support.cast import MOMENT

pytestmark = pytest.mark.django_db
LIFETIME = timedelta(hours=24)
DAY = timedelta(days=1)


def a_session(user, at=MOMENT, **state):
    """Create a session that was issued at this moment."""
    return Session.objects.create(
        jti=uuid.uuid4(),
        user=user,
        session_version=user.session_version,
        issued_at=at,
        expires_at=at + LIFETIME,
        client_ip="198.51.100.7",
        **state,
    )


@pytest.fixture
def ended(alice):
    """Return the id of a session that was issued and ended at the moment of the cast."""
    return str(a_session(alice, revoked_at=MOMENT).jti)


@pytest.mark.parametrize("days", [0, 1, 2, 3, 29, 31, 3650])
def test_an_ended_session_is_in_the_policy_of_a_host_whose_clock_is_fast(ended, days):
    assert ended in policy_source.revoked_sessions(MOMENT + days * DAY)


def test_an_ended_session_is_in_the_policy_for_thirty_days_of_a_fast_clock(ended, alice):
    a_session(alice, MOMENT + 29 * DAY)

    assert ended in policy_source.revoked_sessions(MOMENT + 29 * DAY)


def test_thirty_days_after_its_end_a_session_leaves_the_policy(ended, alice):
    a_session(alice, MOMENT + 31 * DAY)

    assert ended not in policy_source.revoked_sessions(MOMENT + 31 * DAY)


def test_of_many_ended_sessions_the_latest_stay_longer_in_the_policy(alice, monkeypatch):
    monkeypatch.setattr(selectors, "_MAX_SPARE_SESSIONS", 2)
    issued = [MOMENT - days * DAY for days in (10, 9, 8, 1.5, 1, 0)]
    ended = [str(a_session(alice, at, revoked_at=at).jti) for at in issued]

    assert policy_source.revoked_sessions(MOMENT) == set(ended[3:])
    assert policy_source.revoked_sessions(MOMENT + 9 * DAY) == set(ended[3:])
    a_session(alice, MOMENT + 9 * DAY)
    assert policy_source.revoked_sessions(MOMENT + 9 * DAY) == {ended[5]}


@pytest.mark.django_db(transaction=True)
def test_revocations_compiled_by_a_fast_clock_stay_after_the_clock_is_corrected(alice):
    files = policy_files(settings.CONFIG)
    sessions = [a_session(alice), a_session(alice)]

    with time_machine.travel(MOMENT, tick=False) as clock:
        services.revoke_session(sessions[0].pk, at=MOMENT)
        clock.shift(3 * DAY)
        services.revoke_session(sessions[1].pk, at=MOMENT)
        publish(files)
        clock.move_to(MOMENT)
        publish(files)

    worker = PublishedPolicies(files)
    worker.refresh()
    assert worker.current().revoked_sessions == {str(session.pk) for session in sessions}


@pytest.mark.parametrize("days", [31, 60, 3650])
def test_a_fast_clock_deletes_no_recent_session(ended, alice, days):
    live = a_session(alice)

    housekeeping.tidy(MOMENT + days * DAY)

    assert set(Session.objects.values_list("pk", flat=True)) == {live.pk, uuid.UUID(ended)}


def test_sessions_that_are_old_relative_to_the_newest_are_pruned_by_any_clock(alice):
    old, young = a_session(alice, MOMENT - 25 * DAY), a_session(alice, MOMENT - 23 * DAY)
    newest = a_session(alice)

    services.prune_sessions(MOMENT + 3650 * DAY)

    assert set(Session.objects.values_list("pk", flat=True)) == {young.pk, newest.pk}
    assert old.pk not in {young.pk, newest.pk}
