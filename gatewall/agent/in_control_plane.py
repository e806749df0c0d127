"""The agent as a thread of the control plane's only worker: what `gatewall up` does with one worker of each plane.

It saves a process that holds all of Django for a few queries a second (docs/adr/0099-agent-in-the-only-worker.md).
"""

import logging
import os
from threading import Event, Thread

from gatewall.agent.agent import Agent

VARIABLE = "CONTROL_PLANE_RUNS_AGENT"
"""Set by `gatewall up` for the control plane; no setting of an operator."""
_AFTER_A_BUG_SECONDS = 2.0

logger = logging.getLogger(__name__)


def is_wanted() -> bool:
    """Return whether this process shall run the agent of its host."""
    return VARIABLE in os.environ


class AgentThread:
    """Runs the agent until told to stop, and starts another one after an unexpected exception."""

    def __init__(self) -> None:
        self._stop = Event()
        self._thread = Thread(target=self._keep_going, name="agent", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Have the agent end. Returns at once."""
        self._stop.set()

    def join(self) -> None:
        """Return when the agent has ended, its current batch of records stored."""
        self._thread.join()

    def _keep_going(self) -> None:
        while not self._stop.is_set():
            agent = Thread(target=self._lead, name="agent-lead", daemon=True)
            agent.start()
            agent.join()  # an unexpected exception was written to stderr by Python
            if not self._stop.is_set():
                logger.error("agent: ended unexpectedly (a bug), starting again")
                self._stop.wait(_AFTER_A_BUG_SECONDS)

    def _lead(self) -> None:
        Agent.of_this_host().lead(self._stop.is_set)
