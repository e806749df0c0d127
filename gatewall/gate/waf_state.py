"""WAF self-test for health: the engine's state, and whether known attacks are detected. Pure."""

import logging
from collections.abc import Sequence

from gatewall.engine.snapshot import PolicySnapshot
from gatewall.engine.waf.matcher import DISTRUSTED
from gatewall.engine.waf.rules import WafRule

logger = logging.getLogger(__name__)

_MOST_NAMED = 20


def waf_checks(policy: PolicySnapshot | None) -> dict[str, str]:
    """Return health checks ``waf`` ("ok" or what is wrong) and ``waf_engine``; empty without a policy.

    ``waf_apart`` names custom rules that RE2 scans for separately. Runs the canaries on each call. A fault slows
    decisions down but does not change them.
    """
    if policy is None:
        return {}
    wrong = policy.waf.check()
    if wrong == DISTRUSTED:
        logger.error("WAF: %s", wrong)
    checks = {"waf": wrong or "ok", "waf_engine": policy.waf.engine or "none"}
    return checks | ({"waf_apart": _named(policy.waf.apart)} if policy.waf.apart else {})


def _named(rules: Sequence[WafRule]) -> str:
    names = ", ".join([f"{rule.id} ({rule.name})" for rule in rules[:_MOST_NAMED]])
    more = len(rules) - _MOST_NAMED
    return f"{names} and {more} more" if more > 0 else names
