"""PostgreSQL is stopped or hangs under load, or everything is killed beside it: each answer has one row."""

import shutil

import pytest

from tests.faults.log_scenes import a_scene, wrong_after
from tests.kill_test import faults
from tests.support.prepared_postgresql import prepared_on_postgresql


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    with prepared_on_postgresql(home) as running, a_scene(home, server=running) as scene:
        yield scene
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.parametrize(
    "fault",
    [
        faults.database_gone,
        faults.database_hangs,
        pytest.param(faults.everything, marks=pytest.mark.full),
        pytest.param(faults.the_agent_after_its_commit, marks=pytest.mark.full),
        pytest.param(faults.the_agent_between_commit_and_unlink, marks=pytest.mark.full),
        pytest.param(faults.the_agent_between_aside_and_commit, marks=pytest.mark.full),
    ],
)
def test_each_answer_has_one_row_whatever_happens_to_postgresql(scene, fault):
    assert wrong_after(scene, fault) == []


@pytest.mark.full  # test_log_kills.py tests it on SQLite
def test_each_answer_has_one_row_although_the_agent_died_before_its_commit(scene):
    assert wrong_after(scene, faults.the_agent_before_its_commit) == []
