"""`audit_mode`: the answers of both planes while the spool cannot be written."""

import pytest
from django.conf import settings
from django.test import Client

from gatewall.policy import system_settings
from tests.support.dialects import Question
from tests.support.proxies import a_token

pytestmark = pytest.mark.django_db
HEALTH = Question("/wall/health/ready", ())


@pytest.fixture
def strict(wall):
    system_settings.change(actor="alice", audit_mode="strict")


@pytest.fixture
def blocked():
    """Make the spool unwritable."""
    folder = settings.CONFIG.home / "spool"
    folder.write_text("a file where the folder should be")
    return folder


@pytest.fixture
def question(visit, bob):
    return visit().plus(("Service-Authorization", a_token(bob)))


def test_in_strict_mode_requests_are_refused_while_the_spool_fails(strict, blocked, plane, question):
    answer = plane(question)

    assert (answer.status, answer.headers["x-gatewall-reason"]) == (503, "cannot-decide")
    assert "remote-user" not in answer.headers


def test_in_strict_mode_requests_are_allowed_while_the_spool_works(strict, plane, question):
    assert plane(question).status == 200


def test_in_strict_mode_requests_are_allowed_again_when_the_spool_recovers(
    strict, blocked, plane, question, monkeypatch
):
    monkeypatch.setattr("audit.spool.writer._RETRY_SECONDS", 0)
    assert plane(question).status == 503
    blocked.unlink()

    assert plane(question).status == 200


def test_in_best_effort_mode_requests_are_allowed_while_the_spool_fails(wall, blocked, plane, question):
    assert plane(question).status == 200


@pytest.mark.parametrize(("mode", "status"), [("strict", 503), ("best-effort", 200)])
def test_the_data_plane_is_ready_without_a_spool_unless_records_must_be_kept(wall, new_plane, blocked, mode, status):
    system_settings.change(actor="alice", audit_mode=mode)

    assert new_plane("data")(HEALTH).status == status


def test_the_data_plane_becomes_ready_again_by_itself(strict, new_plane, blocked):
    plane = new_plane("data")
    assert plane(HEALTH).status == 503
    blocked.unlink()

    assert plane(HEALTH).status == 200


def test_the_control_plane_is_not_ready_without_a_spool(wall, blocked):
    assert Client().get("/wall/health/ready").status_code == 503
