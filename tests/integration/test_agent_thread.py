"""The agent as a thread of the control plane."""

import pytest

from gatewall.agent import in_control_plane
from gatewall.agent.agent import Agent
from gatewall.agent.in_control_plane import AgentThread
from tests.support.processes import wait_until


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_another_agent_starts_after_a_bug_and_ends_on_stop(monkeypatch, caplog):
    started = []

    class Buggy:
        def lead(self, should_stop):
            started.append(self)
            if len(started) == 1:
                raise KeyError("a bug")
            wait_until(should_stop, what="the stop")

    monkeypatch.setattr(in_control_plane, "_AFTER_A_BUG_SECONDS", 0.0)
    monkeypatch.setattr(Agent, "of_this_host", Buggy)
    thread = AgentThread()
    thread.start()
    wait_until(lambda: len(started) == 2, what="the second agent")

    thread.stop()
    thread.join()

    assert len(started) == 2
    assert [record.getMessage() for record in caplog.records] == ["agent: ended unexpectedly (a bug), starting again"]
