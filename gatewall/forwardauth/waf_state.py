"""What health says of the WAF of a process: its engine, and whether it finds what it must. Pure."""

import logging

from gatewall.engine.snapshot import PolicySnapshot
from gatewall.engine.waf.matcher import DISTRUSTED

logger = logging.getLogger(__name__)


def waf_checks(policy: PolicySnapshot | None) -> dict[str, str]:
    """Return ``waf`` with ``ok`` or what is wrong, and ``waf_engine``; nothing without a policy.

    The canaries are asked each time. What is wrong slows the process down and makes no answer wrong.
    """
    if policy is None:
        return {}
    wrong = policy.waf.check()
    if wrong == DISTRUSTED:
        logger.error("WAF: %s", wrong)
    return {"waf": wrong or "ok", "waf_engine": policy.waf.engine or "none"}
