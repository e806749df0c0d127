"""Age of a process's policy: the time since the last confirmation, by a clock that nobody can set."""

import os
import time

import pytest

from gatewall.snapshot import confirmed
from gatewall.snapshot.confirmed import Confirmations, PolicyAge, elapsed
from tests.unit.clocks import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def confirmations(folder, clock):
    return Confirmations(folder, boot="this-boot", clock=clock)


def test_nothing_is_confirmed_on_a_new_host(confirmations):
    assert confirmations.last() is None


def test_other_processes_read_the_confirmation(confirmations, folder, clock):
    confirmations.confirm(998.25)

    assert Confirmations(folder, boot="this-boot", clock=clock).last() == 998.25


def test_a_late_older_confirmation_does_not_replace_a_newer_one(confirmations):
    confirmations.confirm(999.0)
    confirmations.confirm(900.0)

    assert confirmations.last() == 999.0


def test_confirmations_of_an_earlier_boot_are_ignored_and_removed(confirmations, folder, clock):
    Confirmations(folder, boot="an-earlier-boot", clock=clock).confirm(999.0)
    assert confirmations.last() is None

    confirmations.confirm(1000.0)

    assert [path.name for path in folder.glob("confirmed-*")] == ["confirmed-this-boot"]


def test_a_file_with_the_time_of_day_confirms_nothing(confirmations, folder):
    confirmations.confirm(999.0)
    os.utime(folder / "confirmed-this-boot")  # as copying the file does

    assert confirmations.last() is None


def test_the_next_confirmation_corrects_a_wrong_time(confirmations, folder):
    confirmations.confirm(999.0)
    os.utime(folder / "confirmed-this-boot")

    confirmations.confirm(1000.0)

    assert confirmations.last() == 1000.0


@pytest.mark.parametrize("step", [-86_400.0, 86_400.0])
def test_the_wall_clock_has_no_effect(folder, monkeypatch, step):
    confirmations = Confirmations(folder)
    confirmations.confirm(elapsed())
    age = PolicyAge(confirmations.last)

    now, monotonic = time.time(), time.clock_gettime
    clocks = {time.CLOCK_REALTIME: step}
    monkeypatch.setattr(time, "time", lambda: now + step)
    monkeypatch.setattr(time, "clock_gettime", lambda clock: monotonic(clock) + clocks.get(clock, 0.0))

    assert 0 <= age.seconds() < confirmed.ALARM_SECONDS
    assert (age.is_over(60), age.alarm()) == (False, "")


def test_an_age_grows_until_the_next_confirmation(clock):
    at = [1000.0]
    age = PolicyAge(lambda: at[0], clock)
    clock.now = 1061.0
    assert (age.seconds(), age.is_over(60), age.is_over(61)) == (61.0, True, False)

    at[0] = 1061.0

    assert (age.seconds(), age.is_over(60)) == (0.0, False)


def test_an_unconfirmed_policy_is_too_old_at_once_and_alarms_later(clock):
    age = PolicyAge(lambda: None, clock)

    assert (age.is_over(86_400), age.alarm()) == (True, "")
    clock.now += 17
    assert age.alarm() == "not confirmed for 17 s"


@pytest.mark.parametrize(("passed", "said"), [(15.0, ""), (16.0, "not confirmed for 16 s")])
def test_health_alarms_after_fifteen_seconds(clock, passed, said):
    age = PolicyAge(lambda: 1000.0, clock)
    clock.now += passed

    assert age.alarm() == said


def test_a_confirmation_in_the_future_is_not_fresh(clock):
    clock.now = 1_000_000.0
    age = PolicyAge(lambda: 1_000_000.0, clock)
    clock.now = 1000.0

    assert (age.is_over(86_400), age.alarm()) == (True, "")
    clock.now += 17
    assert (age.is_over(86_400), age.alarm()) == (True, "not confirmed for 17 s")


def test_without_a_boot_id_nothing_is_confirmed(folder, clock, monkeypatch, tmp_path):
    monkeypatch.setattr(confirmed, "_BOOT_ID", tmp_path / "nothing")
    confirmed._boot_id.cache_clear()
    confirmations = Confirmations(folder, clock=clock)
    confirmed._boot_id.cache_clear()

    confirmations.confirm(999.0)  # after the next boot this file would be indistinguishable from a file of that boot

    assert confirmations.last() is None
    assert list(folder.glob("confirmed-*")) == []
