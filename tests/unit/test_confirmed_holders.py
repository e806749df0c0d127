"""Age of the policy in workers of the data plane and in the control plane."""

import logging

import pytest

from gatewall.engine.snapshot import Version
from gatewall.snapshot.confirmed import Confirmations, PolicyAge
from gatewall.snapshot.holder import PolicyHolder, PolicyRefused, PolicyUnavailable
from gatewall.snapshot.published import LastPublished, PublishedPolicies
from tests.support.cast import a_policy
from tests.unit.clocks import Clock
from tests.unit.publications import a_version, publish, put


@pytest.fixture
def clock():
    return Clock()


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


def test_a_worker_uses_the_confirmations_of_its_policy(host, files, clock):
    publish(files, 1)
    clock.now += 5
    host.confirmed()
    clock.now += 3

    assert host.age() == 3


def test_a_worker_that_refuses_a_publication_ignores_its_confirmations(host, files, folder, clock):
    publish(files, 1)
    host.confirmed()
    host.age()
    put(folder / "current", b"nonsense")
    clock.now += 20
    host.confirmed()  # the confirmation is of the version that the worker refuses

    assert host.age() == 20


def test_a_worker_whose_report_cannot_be_written_has_a_confirmed_policy_all_the_same(host, files, clock):
    class Full:
        def loaded(self, policy):
            raise OSError(28, "No space left on device")

    host.policies._report = Full()
    publish(files, 1)
    clock.now += 30
    host.confirmed()

    assert host.age() == 0


def test_confirmations_without_a_published_policy_are_ignored(host, files, folder, clock):
    publish(files, 1)
    host.confirmed()
    host.age()
    (folder / "current").unlink()
    clock.now += 20
    host.confirmed()

    assert host.age() == 20


def test_a_worker_logs_once_when_its_policy_is_unconfirmed_and_confirmed_again(host, files, clock, caplog):
    publish(files, 1)
    host.confirmed()
    with caplog.at_level(logging.INFO, logger="gatewall.snapshot.published"):
        for _ in range(5):
            clock.now += 9
            host.age()
            host.policies._log_alarm_change()
        host.confirmed()
        host.age()
        host.policies._log_alarm_change()

    assert [record.getMessage() for record in caplog.records] == [
        "policy not confirmed for 18 s",
        "policy confirmed again",
    ]


class Store:
    """The policy rows of a database that may be unavailable, restored to an earlier state, or unusable."""

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


def test_the_control_plane_confirms_by_querying_the_store(holder, store, clock):
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


def test_a_slow_confirmation_has_the_age_of_its_query(holder, store, clock):
    answer = store.version

    def hanging():
        clock.now += 50
        return answer()

    store.version = hanging

    assert age_of(holder) == 50


def test_an_unusable_version_confirms_nothing(holder, store, clock):
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


def test_after_an_outage_an_equal_version_alone_confirms_nothing(store, clock):
    holder = PolicyHolder(store, clock=clock)
    holder.current()
    store.error = PolicyUnavailable("away")
    holder.current()
    store.error, store.load_error = None, PolicyRefused("the database went back")
    clock.now += 30
    holder.current()
    clock.now += 5

    assert age_of(holder) == 35


def test_a_refused_version_is_loaded_again_after_an_outage_of_the_store(store, clock):
    holder = PolicyHolder(store, clock=clock)
    holder.current()
    for refused in (PolicyRefused("the database went back"), None):
        store.error = PolicyUnavailable("away")
        holder.current()
        store.error, store.load_error = None, refused
        clock.now += 30
        holder.current()

    assert holder.age.seconds() == 0


def test_after_a_clock_step_back_a_new_confirmation_counts(store, clock):
    holder = PolicyHolder(store, clock=clock)
    holder.current()
    clock.now -= 900
    holder.current()
    store.error = PolicyUnavailable("away")
    clock.now += 40

    assert age_of(holder) == 40


def test_without_the_store_the_control_plane_uses_the_agents_confirmations(store, clock):
    confirmed_at = {Version(1): 1030.0}
    holder = PolicyHolder(store, clock=clock, confirmed=confirmed_at.get)
    holder.current()
    store.error = PolicyUnavailable("away")
    clock.now += 40

    assert age_of(holder) == 10


def test_the_agents_confirmation_is_for_the_published_version_only(files, folder, clock):
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
