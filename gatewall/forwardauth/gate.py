"""The gate: one subrequest in, one answer out, on every plane. Never raises."""

import logging
from collections.abc import Callable
from typing import Protocol

from gatewall.clientip import TrustedProxies
from gatewall.engine.evaluate import CANNOT_DECIDE, evaluate
from gatewall.engine.model import AccessRequest
from gatewall.engine.ports import Ports
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.forwardauth.decision_id import new_decision_id
from gatewall.forwardauth.responses import Answer, GuardPage, answer
from gatewall.forwardauth.subrequest import Subrequest

logger = logging.getLogger(__name__)

Dialect = Callable[[Subrequest, TrustedProxies, float], AccessRequest]


class Policies(Protocol):
    """Where the gate gets the policy from."""

    def current(self) -> PolicySnapshot | None:
        """Return the newest policy that could be had, or None if there never was one."""


class Gate:
    """Decides for one process."""

    def __init__(
        self,
        policies: Policies,
        ports: Ports,
        *,
        trusted: TrustedProxies,
        guard: GuardPage,
        clock: Callable[[], float],
    ) -> None:
        self._policies = policies
        self._ports = ports
        self._trusted = trusted
        self._guard = guard
        self._clock = clock

    def check(self, dialect: Dialect, subrequest: Subrequest) -> Answer:
        """Return the answer to a subrequest of this dialect: 200, 401, 403, or 503 for "cannot decide"."""
        at = self._clock()
        decision_id = new_decision_id(at)
        try:
            policy = self._policies.current()
            if policy is None:
                return answer(CANNOT_DECIDE, None, None, self._guard, decision_id)
            request = dialect(subrequest, self._trusted, at)
            decision = evaluate(request, policy, self._ports)
            return answer(decision, request, policy, self._guard, decision_id)
        except Exception:
            # The proxy acts on our status: a bug may refuse a request, never admit one.
            logger.exception("access evaluation failed", extra={"decision_id": decision_id})
            return answer(CANNOT_DECIDE, None, None, self._guard, decision_id)
