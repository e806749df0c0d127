"""`stale_policy`: the answers of both planes when their policy can no longer be compared with the database."""

import json
import re
import time

import pytest
from django.db import OperationalError

from gatewall.policy import system_settings
from tests.support.dialects import Question
from tests.support.proxies import a_token

pytestmark = pytest.mark.django_db
HEALTH = Question("/wall/health/ready", ())
TOO_OLD = 61


@pytest.fixture
def strict(wall):
    system_settings.change(actor="alice", stale_policy="strict")


@pytest.fixture
def question(visit, bob):
    return visit().plus(("Service-Authorization", a_token(bob)))


@pytest.fixture
def pass_seconds(monkeypatch):
    """Return a function that advances the monotonic clocks of the host."""
    clocks, passed = time.clock_gettime, [0.0]
    monkeypatch.setattr(time, "clock_gettime", lambda clock: clocks(clock) + passed[0])

    def wait(seconds):
        passed[0] += seconds

    return wait


@pytest.fixture
def database():
    with pytest.MonkeyPatch.context() as patch:
        yield Database(patch)


class Database:
    """A switch that makes reading the current revision fail."""

    def __init__(self, patch):
        self._patch = patch

    def fails(self):
        def away():
            raise OperationalError("away")

        self._patch.setattr("gatewall.policy.revisions.current", away)

    def recovers(self):
        self._patch.undo()


def asked_alone(plane, question):
    """Ask a plane without publishing first."""
    return getattr(plane, "ask", plane)(question)


@pytest.mark.parametrize(("mode", "status"), [("strict", 503), ("static", 200)])
def test_without_the_database_only_strict_mode_refuses_after_the_maximum_age(
    wall, plane, question, database, pass_seconds, mode, status
):
    system_settings.change(actor="alice", stale_policy=mode)
    assert plane(question).status == 200
    database.fails()
    pass_seconds(50)
    assert asked_alone(plane, question).status == 200

    pass_seconds(11)

    assert asked_alone(plane, question).status == status


def test_the_maximum_age_of_a_policy_is_a_setting(strict, plane, question, database, pass_seconds):
    system_settings.change(actor="alice", stale_policy_seconds=300)
    plane(question)
    database.fails()
    pass_seconds(TOO_OLD)

    assert asked_alone(plane, question).status == 200


def test_requests_are_allowed_again_when_the_database_recovers(strict, plane, question, database, pass_seconds):
    plane(question)
    database.fails()
    pass_seconds(TOO_OLD)
    refused = asked_alone(plane, question)
    assert refused.verdict == (503, "cannot-decide")
    assert "remote-user" not in refused.headers

    database.recovers()

    assert plane(question).status == 200


def test_time_without_requests_makes_no_policy_stale(strict, plane, question, pass_seconds):
    plane(question)
    pass_seconds(86_400)

    assert plane(question).status == 200


def test_without_the_database_a_new_control_plane_uses_the_published_policy(
    strict, new_plane, question, database, pass_seconds
):
    new_plane("data")(question)  # asking publishes first
    database.fails()
    control = new_plane("control")
    assert control(question).status == 200

    pass_seconds(TOO_OLD)

    assert control(question).verdict == (503, "cannot-decide")


@pytest.mark.parametrize(("mode", "also"), [("strict", TOO_OLD), ("static", 0)])
def test_the_data_plane_stays_ready_and_reports_the_age_of_its_policy(
    wall, new_plane, question, pass_seconds, mode, also
):
    system_settings.change(actor="alice", stale_policy=mode)
    data = new_plane("data")
    data(question)
    assert '"policy": "ok"' in data.ask(HEALTH).body

    pass_seconds(20 + also)

    health = data.ask(HEALTH)
    assert health.status == 200
    said = re.fullmatch(r"not confirmed for (\d+) s", json.loads(health.body)["checks"]["policy"])
    assert int(said[1]) >= 20 + also
