"""How old the policy of a process is: by the clock that nobody sets, and since the last comparison."""

import logging
import os
import time

import pytest

from gatewall.engine.snapshot import Version
from gatewall.snapshot import confirmed
from gatewall.snapshot.confirmed import Confirmations, PolicyAge, elapsed
from gatewall.snapshot.holder import PolicyHolder, PolicyRefused, PolicyUnavailable
from gatewall.snapshot.published import LastPublished, PublishedPolicies
from tests.cast import a_policy
from tests.unit.publications import a_version, publish, put


class Clock:
    """Seconds since boot, by hand."""

    def __init__(self, now=1000.0):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def confirmations(folder, clock):
    return Confirmations(folder, boot="this-boot", clock=clock)


def test_nothing_is_confirmed_on_a_new_host(confirmations):
    assert confirmations.last() is None


def test_what_was_confirmed_is_known_to_every_process(confirmations, folder, clock):
    confirmations.confirm(998.25)

    assert Confirmations(folder, boot="this-boot", clock=clock).last() == 998.25


def test_a_comparison_that_took_long_takes_nothing_back(confirmations):
    confirmations.confirm(999.0)
    confirmations.confirm(900.0)

    assert confirmations.last() == 999.0


def test_what_an_earlier_boot_has_left_is_not_read_and_goes(confirmations, folder, clock):
    Confirmations(folder, boot="an-earlier-boot", clock=clock).confirm(999.0)
    assert confirmations.last() is None

    confirmations.confirm(1000.0)

    assert [path.name for path in folder.glob("confirmed-*")] == ["confirmed-this-boot"]


def test_a_file_with_the_time_of_day_confirms_nothing(confirmations, folder):
    confirmations.confirm(999.0)
    os.utime(folder / "confirmed-this-boot")  # as somebody may who copies it

    assert confirmations.last() is None


def test_a_wrong_moment_is_put_right_by_the_next_confirmation(confirmations, folder):
    confirmations.confirm(999.0)
    os.utime(folder / "confirmed-this-boot")

    confirmations.confirm(1000.0)

    assert confirmations.last() == 1000.0


@pytest.mark.parametrize("step", [-86_400.0, 86_400.0])
def test_the_clock_of_the_wall_is_not_asked(folder, monkeypatch, step):
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


def test_what_was_never_confirmed_is_too_old_at_once_and_is_said_after_a_while(clock):
    age = PolicyAge(lambda: None, clock)

    assert (age.is_over(86_400), age.alarm()) == (True, "")
    clock.now += 17
    assert age.alarm() == "not confirmed for 17 s"


@pytest.mark.parametrize(("passed", "said"), [(15.0, ""), (16.0, "not confirmed for 16 s")])
def test_health_says_it_after_fifteen_seconds(clock, passed, said):
    age = PolicyAge(lambda: 1000.0, clock)
    clock.now += passed

    assert age.alarm() == said


class Host:
    """The published files of a host whose clock is ours, and a worker that reads them."""

    def __init__(self, files, folder, clock):
        files.confirmations = Confirmations(folder, boot="b", clock=clock)
        self.files = files
        self.policies = PublishedPolicies(files)
        self.policies.age = PolicyAge(lambda: self.policies._confirmed_at, clock)
        self.clock = clock

    def confirmed(self):
        self.files.confirmations.confirm(self.clock.now)

    def age(self):
        self.policies.refresh()
        return self.policies.age.seconds()


@pytest.fixture
def host(files, folder, clock):
    return Host(files, folder, clock)


def test_a_worker_takes_the_confirmations_of_the_policy_that_it_has(host, files, clock):
    publish(files, 1)
    clock.now += 5
    host.confirmed()
    clock.now += 3

    assert host.age() == 3


def test_a_worker_that_refuses_what_was_published_has_no_confirmed_policy(host, files, folder, clock):
    publish(files, 1)
    host.confirmed()
    host.age()
    put(folder / "current", b"nonsense")
    clock.now += 20
    host.confirmed()  # of the one that it refuses

    assert host.age() == 20


def test_a_worker_whose_report_cannot_be_written_has_a_confirmed_policy_all_the_same(host, files, clock):
    class Full:
        def loaded(self, policy, *, reloaded):
            raise OSError(28, "No space left on device")

    host.policies._observer = Full()
    publish(files, 1)
    clock.now += 30
    host.confirmed()

    assert host.age() == 0


def test_confirmations_without_a_published_policy_are_not_ours(host, files, folder, clock):
    publish(files, 1)
    host.confirmed()
    host.age()
    (folder / "current").unlink()
    clock.now += 20
    host.confirmed()

    assert host.age() == 20


def test_a_worker_logs_once_that_it_is_cut_off_and_once_that_it_is_not(host, files, clock, caplog):
    publish(files, 1)
    host.confirmed()
    with caplog.at_level(logging.INFO, logger="gatewall.snapshot.published"):
        for _ in range(5):
            clock.now += 9
            host.age()
            host.policies._say_if_cut_off()
        host.confirmed()
        host.age()
        host.policies._say_if_cut_off()

    assert [record.getMessage() for record in caplog.records] == [
        "policy not confirmed for 18 s",
        "policy confirmed again",
    ]


class Store:
    """The rows, which may be away, went back or cannot be used."""

    def __init__(self):
        self.force, self.error, self.load_error = Version(1), None, None

    def version(self):
        if self.error:
            raise self.error
        return self.force

    def load(self, version):
        if self.load_error:
            raise self.load_error
        return a_policy(version=version)


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def holder(store, clock):
    return PolicyHolder(store, clock=clock)


def age_of(holder):
    holder.current()
    return holder.age.seconds()


def test_the_control_plane_confirms_by_asking(holder, store, clock):
    holder.current()
    clock.now += 100
    assert age_of(holder) == 0

    store.error = PolicyUnavailable("away")
    clock.now += 7

    assert age_of(holder) == 7


def test_a_new_version_that_was_loaded_is_confirmed(holder, store, clock):
    holder.current()
    clock.now += 100
    store.force = Version(2)

    assert age_of(holder) == 0


def test_an_answer_that_took_long_is_as_old_as_the_question(holder, store, clock):
    answer = store.version

    def hanging():
        clock.now += 50
        return answer()

    store.version = hanging

    assert age_of(holder) == 50


def test_a_version_that_cannot_be_used_confirms_nothing(holder, store, clock):
    holder.current()
    store.force, store.load_error = Version(2), PolicyRefused("no")
    clock.now += 9
    holder.current()
    clock.now += 9

    assert age_of(holder) == 18


def test_a_database_that_went_back_confirms_nothing(store, clock):
    store.force = Version(5)
    holder = PolicyHolder(store, clock=clock)
    holder.current()
    store.force = Version(3)
    clock.now += 40

    assert age_of(holder) == 40


def test_without_the_rows_the_control_plane_believes_its_hosts_agent(store, clock):
    confirmed_at = {Version(1): 1030.0}
    holder = PolicyHolder(store, clock=clock, confirmed=confirmed_at.get)
    holder.current()
    store.error = PolicyUnavailable("away")
    clock.now += 40

    assert age_of(holder) == 10


def test_the_agents_word_is_for_the_published_version_alone(files, folder, clock):
    files.confirmations = Confirmations(folder, boot="b", clock=clock)
    last_published = LastPublished(files)
    assert last_published.confirmed_at(a_version(1)) is None
    publish(files, 1)
    files.confirmations.confirm(990.0)
    assert last_published.confirmed_at(a_version(1)) == 990.0

    publish(files, 2)

    assert last_published.confirmed_at(a_version(1)) is None
    assert last_published.confirmed_at(a_version(2)) == 990.0


def test_a_manifest_that_cannot_be_read_confirms_nothing(files, folder):
    files.confirmations.confirm(1.0)
    folder.mkdir(exist_ok=True)
    put(folder / "current", b"nonsense")

    assert LastPublished(files).confirmed_at(a_version(1)) is None
