"""Housekeeping deletes obsolete rows of sign-in, and no others."""

import itertools
from datetime import timedelta

import pytest
import time_machine
from django.conf import settings
from django.utils import timezone

from accounts import services
from accounts.models import Challenge, FailureCount, Session
from accounts.sign_in import challenges, throttling
from gatewall.agent import housekeeping
from gatewall.agent.agent import Agent
from gatewall.agent.log_shipper import LogShipper
from gatewall.models import Node
from gatewall.snapshot.host_paths import policy_files, run_folder
from tests.support.proxies import a_token

pytestmark = pytest.mark.django_db
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def failures():
    return set(FailureCount.objects.values_list("scope", "failures"))


@pytest.mark.parametrize(("age", "left"), [(5 * MINUTE - timedelta(seconds=1), 1), (5 * MINUTE, 0)])
def test_expired_challenges_are_deleted(bob, age, left):
    at = timezone.now().replace(microsecond=0)
    challenges.begin(bob, "login", amr=["pwd"], at=at)

    housekeeping.tidy(at + age)

    assert Challenge.objects.count() == left


@pytest.mark.parametrize(("age", "left"), [(14 * MINUTE, 4), (15 * MINUTE, 0)])
def test_failures_are_deleted_after_their_window(db, age, left):
    at = timezone.now()
    throttling.attempt("bob", "203.0.113.7", at)

    housekeeping.tidy(at + age)

    assert FailureCount.objects.count() == left


def test_failures_that_block_stay_until_the_window_after_the_delay(db):
    at = timezone.now()
    for _ in range(10):
        throttling.attempt("bob", "203.0.113.7", at)

    housekeeping.tidy(at + 15 * MINUTE)
    assert failures() == {("pair", 10)}

    housekeeping.tidy(at + 15 * MINUTE + timedelta(seconds=30))
    assert failures() == set()


def test_nothing_is_blocked_longer_than_an_hour_by_a_clock_that_was_put_back(db):
    at = timezone.now()
    for _ in range(10):
        throttling.attempt("bob", "203.0.113.7", at + 300 * DAY)

    housekeeping.tidy(at)

    with pytest.raises(throttling.TooManyAttempts) as refused:
        throttling.attempt("bob", "203.0.113.7", at + MINUTE)
    assert refused.value.retry_after_seconds == 59 * 60
    throttling.attempt("bob", "203.0.113.7", at + 60 * MINUTE)
    housekeeping.tidy(at + 3 * 60 * MINUTE)
    assert failures() == set()


@pytest.mark.parametrize(("days", "left"), [(30, 1), (31, 0)])
def test_sessions_are_deleted_thirty_days_after_their_end(bob, days, left):
    at = timezone.now().replace(microsecond=0)
    a_token(bob, at=at)
    a_token(bob, at=at + days * DAY)

    housekeeping.tidy(at + days * DAY)

    assert Session.objects.count() == left + 1


def test_a_revoked_session_stays_revoked(bob, auth):
    token = a_token(bob)
    services.revoke_session(Session.objects.get().pk, at=timezone.now())

    housekeeping.tidy(timezone.now())

    assert Session.objects.filter(revoked_at__isnull=False).exists()
    assert auth(service_authorization=token).status == 401


def test_many_rows_are_deleted_in_batches(db, monkeypatch):
    monkeypatch.setattr(throttling, "_PRUNED_AT_ONCE", 2)
    at = timezone.now()
    for number in range(5):
        throttling.attempt(f"user-{number}", "203.0.113.7", at)

    assert [housekeeping.tidy(at + DAY) for _ in range(7)] == [2, 2, 2, 2, 2, 2, 0]
    assert failures() == set()


def an_agent():
    shipper = LogShipper(settings.CONFIG.home / "spool")
    return Agent(policy_files(settings.CONFIG), run_folder(settings.CONFIG.home), "here", shipper)


@pytest.mark.django_db(transaction=True)
def test_the_agent_tidies_up_when_it_starts_and_every_ten_minutes(monkeypatch):
    moments = []
    monkeypatch.setattr(housekeeping, "tidy", lambda at: moments.append(at) or 0)
    agent = an_agent()

    with time_machine.travel(timezone.now(), tick=False) as clock:
        for _ in range(42):
            agent.turn()
            clock.shift(30)

    assert [later - earlier for earlier, later in itertools.pairwise(moments)] == [housekeeping.EVERY] * 2


@pytest.mark.django_db(transaction=True)
def test_the_agent_publishes_between_the_parts(bob, monkeypatch):
    monkeypatch.setattr(throttling, "_PRUNED_AT_ONCE", 2)
    agent = an_agent()
    throttling.attempt("bob", "203.0.113.7", timezone.now() - DAY)
    left = []

    for _ in range(3):
        agent.turn()
        left.append(FailureCount.objects.count())

    assert left == [2, 0, 0]


def test_hosts_that_were_silent_for_a_week_are_forgotten(db):
    at = timezone.now()
    for name, age in (("here", MINUTE), ("away", 7 * DAY), ("gone", 7 * DAY + MINUTE)):
        Node.objects.create(name=name, seen_at=at - age, revision=1, workers=[{"pid": 1, "revision": 1}])

    housekeeping.tidy(at)

    assert set(Node.objects.values_list("name", flat=True)) == {"here", "away"}
