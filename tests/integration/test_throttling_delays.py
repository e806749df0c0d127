"""The failure count of one key: the delay that it causes, and its expiry."""

from datetime import timedelta

import pytest

from accounts.sign_in.throttling import Count, Counted, Limit
from tests.support.cast import MOMENT

MINUTE = timedelta(minutes=1)
SIX = Limit(6, 15 * MINUTE, timedelta(seconds=10))


def later(seconds):
    return MOMENT + timedelta(seconds=seconds)


def counted(failures, limit=SIX):
    count = Count(0, MOMENT)
    for _ in range(failures):
        count = count.with_one_more(limit, MOMENT)
    return count


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(0, 0), (1, 0), (5, 0), (6, 10), (7, 20), (8, 40), (13, 1280), (14, 2560), (15, 3600), (38, 3600), (39, 3600)],
)
def test_delay_begins_at_the_limit_and_doubles_up_to_an_hour(failures, seconds):
    assert counted(failures).seconds_to_wait(MOMENT) == seconds


def test_doublings_are_bounded_whatever_the_first_delay_is():
    tiny = Limit(1, MINUTE, timedelta(microseconds=1))

    assert counted(33, tiny).seconds_to_wait(MOMENT) == 3600
    assert counted(32, tiny).seconds_to_wait(MOMENT) == 2148
    assert counted(5_000, tiny).seconds_to_wait(MOMENT) == 3600


@pytest.mark.parametrize(("seconds", "left"), [(0, 10), (0.5, 10), (9, 1), (9.999, 1), (10, 0), (11, 0)])
def test_seconds_to_wait_are_rounded_up_and_end(seconds, left):
    assert counted(6).seconds_to_wait(later(seconds)) == left


@pytest.mark.parametrize(("seconds", "failures"), [(899, 6), (900, 1), (901, 1)])
def test_window_begins_with_the_first_failure_and_its_end_is_exclusive(seconds, failures):
    count = counted(5).with_one_more(SIX, later(seconds))

    assert (count.failures, count.began_at) == (failures, MOMENT if failures == 6 else later(seconds))


@pytest.mark.parametrize(("seconds", "failures"), [(909, 7), (910, 1)])
def test_window_of_a_delay_begins_at_its_end(seconds, failures):
    assert counted(6).with_one_more(SIX, later(seconds)).failures == failures


@pytest.mark.parametrize(("failures", "left", "seconds"), [(8, 7, 20), (7, 6, 10), (6, 5, 0), (5, 4, 0), (1, 0, 0)])
def test_an_uncounted_attempt_ends_the_delay_that_it_caused(failures, left, seconds):
    before, after = counted(failures - 1), counted(failures)

    count = after.without(Counted("key", before.blocked_until, after.blocked_until), SIX)

    assert (count.failures, count.seconds_to_wait(MOMENT), count.began_at) == (left, seconds, MOMENT)


def test_an_uncounted_attempt_keeps_the_delay_of_a_later_one():
    first, second = counted(6), counted(6).with_one_more(SIX, later(1))

    count = second.without(Counted("key", None, first.blocked_until), SIX)

    assert (count.failures, count.blocked_until) == (6, second.blocked_until)


def test_count_that_was_reset_meanwhile_stays_zero():
    assert Count(0, MOMENT).without(Counted("key", later(9), later(9)), SIX) == Count(0, MOMENT)
