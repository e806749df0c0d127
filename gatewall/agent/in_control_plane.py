"""The agent as a thread of the control plane's only worker, as `gatewall up` runs it with one worker of each plane.

This saves a process with all of Django for a few queries a second (docs/adr/0099-agent-in-the-only-worker.md).
"""

import logging
import os
from threading import Event, Thread

from gatewall.agent.agent import Agent

VARIABLE = "CONTROL_PLANE_RUNS_AGENT"
"""Environment variable that `gatewall up` sets for the control plane; not a setting for operators."""
_AFTER_A_BUG_SECONDS = 2.0

logger = logging.getLogger(__name__)


def is_wanted() -> bool:
    """Return whether this process must run the agent of its host."""
    return VARIABLE in os.environ


class AgentThread:
    """Runs the agent until ``stop()``, and starts another one after an unexpected exception."""

    def __init__(self) -> None:
        self._stop = Event()
        self._thread = Thread(target=self._keep_going, name="agent", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the agent, without waiting for its end."""
        self._stop.set()

    def join(self) -> None:
        """Wait until the agent has ended; it stores its current batch of records first."""
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
