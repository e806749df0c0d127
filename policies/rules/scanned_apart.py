"""Warn of WAF patterns that need a separate scan: correct, but slower for every request."""

import logging

from gatewall.engine.waf.prefilter import why_apart
from policies.models import WafRule
from policies.policy_source import engine_rule

logger = logging.getLogger(__name__)


def warnings_about(row: WafRule) -> list[str]:
    """Return the warnings about a custom rule's pattern, as texts."""
    why = "" if row.builtin else why_apart(engine_rule(row))
    if not why:
        return []
    return [f"RE2 scans for this pattern by itself, beside one scan for all others, which makes requests slower: {why}"]


def log_once(row: WafRule) -> None:
    """Log the warnings about a rule; call this only where its pattern is written."""
    for warning in warnings_about(row):
        logger.warning("WAF rule %d (%s): %s", row.pk, row.name, warning)
