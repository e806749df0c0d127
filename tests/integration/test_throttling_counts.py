"""Counts of failed sign-ins: when an attempt is delayed, for how long, and what resets a count."""

from datetime import timedelta

import pytest

from accounts.hashers import TooBusy
from accounts.models import FailureCount
from accounts.sign_in import throttling
from accounts.sign_in.throttling import TooManyAttempts
from gatewall.policy import system_settings
from tests.support.cast import MOMENT
from tests.support.proxies import a_token

pytestmark = pytest.mark.django_db

HERE, THERE = "203.0.113.1", "198.51.100.7"


def later(seconds):
    return MOMENT + timedelta(seconds=seconds)


def fail(times, name="alice", where=HERE, at=MOMENT):
    for _ in range(times):
        throttling.attempt(name, where, at)


def wait(name="alice", where=HERE, at=MOMENT):
    """Make an attempt; return its delay in seconds."""
    try:
        throttling.attempt(name, where, at).uncount()
    except TooManyAttempts as refusal:
        return refusal.retry_after_seconds
    return 0


@pytest.fixture
def limits(db):
    """Return a function that sets the limits of failures: per account and network, network, account."""

    def new(pair=3, network=100, account=1_000):
        system_settings.change(
            actor="alice",
            login_failures_per_account_and_network=pair,
            login_failures_per_network=network,
            login_failures_per_account=account,
            login_failure_window_minutes=15,
            login_delay_seconds=10,
        )

    new()
    return new


def test_account_from_one_network_waits_after_its_failures(limits):
    fail(2)
    assert wait() == 0

    fail(1)

    assert wait() == 10
    assert (wait(where=THERE), wait("bob")) == (0, 0)


def test_attempt_that_has_to_wait_is_not_counted(limits):
    fail(3)

    assert [wait() for _ in range(5)] == [10] * 5
    assert set(FailureCount.objects.values_list("failures", flat=True)) == {3}


def test_next_failure_after_the_delay_doubles_it(limits):
    fail(3)

    fail(1, at=later(10))

    assert wait(at=later(10)) == 20


def test_letter_case_does_not_distinguish_accounts(limits):
    fail(3, "Stra\u00dfe")

    assert (wait("STRASSE"), wait("stra\u00dfe")) == (10, 10)


def test_the_delay_of_a_network_applies_to_every_account(limits):
    limits(pair=100, network=4)
    for name in ("a", "b", "c", "d"):
        fail(1, name)

    assert (wait("e"), wait("e", THERE)) == (10, 0)


def test_the_delay_of_an_account_applies_to_every_network(limits):
    limits(account=4)
    for number in range(4):
        fail(1, where=f"198.51.100.{number}")

    assert (wait(), wait("bob")) == (10, 0)


def test_the_longest_delay_is_reported(limits):
    limits(pair=2, network=4)
    fail(2)
    fail(1, at=later(10))
    fail(1, "bob", at=later(10))

    assert (wait(at=later(10)), wait("carol", at=later(10))) == (20, 10)


def test_owner_at_home_is_not_kept_out_by_failures_from_elsewhere(limits, alice):
    limits(account=4)
    a_token(alice, at=MOMENT)
    for number in range(4):
        fail(1, where=f"203.0.113.{number}")

    assert wait(where=THERE) == 0
    assert wait(where="192.0.2.1") > 0


@pytest.mark.parametrize("numbers", [{"pair": 4, "network": 100}, {"pair": 100, "network": 4}])
def test_owner_at_home_waits_for_failures_from_home(limits, alice, numbers):
    a_token(alice, at=MOMENT)
    limits(account=4, **numbers)
    fail(4, where=THERE)

    assert wait(where=THERE) == 10


def test_owner_at_home_gets_the_longest_delay(limits, alice):
    a_token(alice, at=MOMENT)
    limits(pair=2, account=4)
    for number in range(4):
        fail(1, where=f"203.0.113.{number}")
    fail(2, where=THERE)

    assert wait(where=THERE) == 40


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:0:7::1", "2001:db8:0:7:ffff::9", True),
        ("2001:db8:0:7::1", "2001:db8:0:ff::1", True),
        ("2001:db8:0:7::1", "2001:db8:0:100::1", True),
        ("2001:db8:0:7::1", "2001:db8:1:7::1", False),
        ("203.0.113.1", "203.0.113.2", False),
        ("203.0.113.1", "::ffff:203.0.113.1", False),
        ("", "", True),
        ("", "unix", False),
    ],
)
def test_network_is_an_ipv4_address_or_a_48_of_ipv6(limits, one, other, same):
    limits(pair=100, network=1)
    fail(1, "alice", one)

    assert (wait("bob", other) > 0) is same


@pytest.mark.parametrize(
    ("others", "scopes"),
    [
        (["2001:db8:0:7::1"] * 4, ("network", "network-48", "network-56")),
        ([f"2001:db8:0:{number:x}::1" for number in range(4)], ("network-48", "network-56")),
        ([f"2001:db8:0:{number:x}00::1" for number in range(4)], ("network-48",)),
        ([f"203.0.113.{number}" for number in range(16)], ("network-24",)),
    ],
)
def test_enclosing_networks_are_delayed_too(limits, others, scopes):
    limits(pair=100, network=4)
    for number, where in enumerate(others):
        fail(1, f"user-{number}", where)

    with pytest.raises(TooManyAttempts, check=lambda refusal: refusal.scopes == scopes):
        throttling.attempt("alice", "2001:db8:0:7::9" if ":" in others[0] else "203.0.113.200", MOMENT)


@pytest.mark.parametrize(("times", "seconds"), [(15, 0), (16, 10)])
def test_a_24_of_ipv4_may_fail_four_times_as_often_as_an_address(limits, times, seconds):
    limits(pair=100, network=4)
    for number in range(times):
        fail(1, f"user-{number}", f"203.0.113.{number}")
    assert wait("alice", "203.0.113.200") == seconds


def test_owner_at_home_is_not_kept_out_by_failures_from_networks_around(limits, alice):
    limits(pair=100, network=4)
    a_token(alice, at=MOMENT)
    for number in range(16):
        fail(1, f"user-{number}", f"198.51.100.{number + 20}")

    assert (wait(where=THERE), wait("bob", THERE)) == (0, 10)


def test_attempt_that_was_no_failure_leaves_the_counts_as_they_were(limits):
    fail(2)

    throttling.attempt("alice", HERE, MOMENT).uncount()

    assert set(FailureCount.objects.values_list("failures", flat=True)) == {2}


def test_success_resets_only_the_count_of_the_account_at_its_network(limits):
    fail(2)

    throttling.attempt("alice", HERE, MOMENT).succeeded()

    left = dict(FailureCount.objects.values_list("scope", "failures"))
    assert left == {"account": 2, "network": 2, "network-24": 2, "pair": 0}


def test_success_ends_the_delay_of_the_account_at_its_network(limits):
    fail(2)
    slow = throttling.attempt("alice", HERE, MOMENT)
    assert wait() == 10

    slow.succeeded()

    assert wait() == 0
    assert set(FailureCount.objects.values_list("blocked_until", flat=True)) == {None}


def test_attempt_refused_as_too_busy_is_not_counted(limits):
    with pytest.raises(TooBusy), throttling.attempt("alice", HERE, MOMENT).uncounted_if_too_busy():
        raise TooBusy("later", retry_after_seconds=1)

    assert set(FailureCount.objects.values_list("failures", flat=True)) == {0}


def test_attempt_that_was_not_too_busy_stays_counted(limits):
    with throttling.attempt("alice", HERE, MOMENT).uncounted_if_too_busy():
        pass

    assert set(FailureCount.objects.values_list("failures", flat=True)) == {1}


def test_counts_of_a_clock_that_was_put_back_end_within_their_time(limits):
    fail(3, at=later(86_400))

    assert throttling.prune(MOMENT) == 0

    assert wait() == 3600
    assert set(FailureCount.objects.values_list("began_at", flat=True)) == {MOMENT}


def test_clock_that_was_not_put_back_changes_nothing(limits):
    fail(3)
    rows = sorted(FailureCount.objects.values_list())

    throttling.prune(MOMENT)

    assert sorted(FailureCount.objects.values_list()) == rows


def test_a_thousand_counts_are_pruned_at_once(limits):
    rows = [FailureCount(scope="network", key=str(number), failures=1, began_at=MOMENT) for number in range(1_001)]
    FailureCount.objects.bulk_create(rows)

    assert [throttling.prune(later(900)) for _ in range(3)] == [1_000, 1, 0]


def test_attempt_is_taken_back_though_the_counts_are_gone(limits):
    attempt = throttling.attempt("alice", HERE, MOMENT)
    FailureCount.objects.all().delete()

    attempt.uncount()

    assert not FailureCount.objects.exists()


def test_the_typed_name_is_not_stored(limits):
    fail(1, "my password \ud800")

    rows = FailureCount.objects.values_list("scope", "key")
    assert {scope for scope, _ in rows} == {"account", "network", "network-24", "pair"}
    assert all(len(key) == 64 and set(key) <= set("0123456789abcdef") for _, key in rows)


def test_refusal_has_the_code_too_many_attempts(limits):
    fail(3)

    with pytest.raises(TooManyAttempts) as caught:
        throttling.attempt("alice", HERE, MOMENT)

    assert caught.value.code == "too-many-attempts"


@pytest.mark.parametrize(("seconds", "pruned"), [(899, 0), (900, 4), (901, 4)])
def test_expired_counts_are_pruned(limits, seconds, pruned):
    fail(2)

    assert throttling.prune(later(seconds)) == pruned


@pytest.mark.parametrize(("seconds", "pruned"), [(900, 3), (909, 3), (910, 4)])
def test_count_with_a_delay_is_pruned_a_window_after_its_end(limits, seconds, pruned):
    fail(3)

    assert throttling.prune(later(seconds)) == pruned
