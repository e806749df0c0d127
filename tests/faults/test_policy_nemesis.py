"""The policy changes under random faults: no request is let in that every policy in force denies."""

import pytest

from tests.kill_test import faults as host_faults
from tests.nemesis import faults, report, run
from tests.nemesis.checker import Bounds, Wrong
from tests.nemesis.hosts import Means, play
from tests.nemesis.visitors import Editor
from tests.support.form import by_form
from tests.support.processes import prepare
from tests.support.servers import tell

PATIENT = Bounds(same_host=10, other_host=10)
"""Lenient bounds, for slow build servers. The long form checks the documented bounds."""
SHORT = (
    faults.on_a_host(host_faults.a_worker_of_the_data_plane),
    faults.on_a_host(host_faults.a_worker_of_the_control_plane),
    faults.on_a_host(host_faults.the_agent),
    faults.of_the_store(host_faults.database_gone),
    faults.twenty_reloads,
    faults.policy_file_damaged,
    faults.policy_file_of_before,
    faults.segments_damaged,
    faults.cache_hangs,
    faults.cache_gone,
    faults.rolling_restart,
)


def result_of(scene, config, *some, seconds):
    """Inject these faults while the policy changes under load; return the checked result."""
    with scene.visitors, Editor(scene.workload, rate=4) as editor:
        events = run.at_random(scene, editor, seconds=seconds, say=lambda _words: None, faults=some)
    assert editor.failure is None
    assert editor.changes
    result = report.result_of(scene, events, PATIENT)
    worst = max(result.whole.worst_here, result.whole.worst_elsewhere)
    tell(config, f"{result.whole.answers} answers under {editor.changes} changes, worst revocation {worst:.2f} s")
    return result.whole


@pytest.mark.parametrize("seconds", [by_form(full=40, default=20)])
def test_no_fault_lets_anybody_in_against_the_policy(seconds, tmp_path, pytestconfig):
    prepare(tmp_path / "host-0")
    with play(tmp_path, seed=12, rate=60, means=Means(cached=True, prepared=True, clocks=False)) as scene:
        whole = result_of(scene, pytestconfig, *SHORT, seconds=seconds)

    assert report.failures(whole) == []
    assert whole.wrong[Wrong.NO_DECISION] == 0
    assert whole.answers > 200


@pytest.mark.full
def test_no_network_fault_between_two_hosts_lets_anybody_in_against_the_policy(tmp_path, pytestconfig):
    with play(tmp_path, seed=12, rate=60, means=Means(hosts=2, cached=True)) as scene:
        whole = result_of(scene, pytestconfig, *faults.BETWEEN_HOSTS, seconds=120)

    assert report.failures(whole) == []
