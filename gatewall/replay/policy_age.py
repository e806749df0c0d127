"""Strict mode in a replay: whether an unconfirmed policy would have refused a recorded request. Pure.

With ``stale_policy`` set to ``strict``, a host whose policy was not confirmed for too long answers 503. A record does
not have the age of the policy. A request that was answered under the same strict limit was within that limit.
"""

from dataclasses import replace

from audit.spool.records import AccessRecord
from gatewall.engine.snapshot import PolicySettings, PolicySnapshot, StalePolicy
from gatewall.replay.change_history import ChangeHistory

_DEFAULTS = PolicySettings()
Sides = tuple[tuple[PolicySnapshot, ChangeHistory], tuple[PolicySnapshot, ChangeHistory]]


class PolicyAges:
    """Finds the records for which the age of the policy must be known to compare two policies."""

    def __init__(self, sides: Sides) -> None:
        """``sides``: both policies, each with its changes since a request was recorded."""
        before, after = (_limit(policy.settings) for policy, _ in sides)
        self.differ = before != after
        self._strict = tuple(history for policy, history in sides if _limit(policy.settings) is not None)

    def are_needed(self, record: AccessRecord) -> bool:
        """True if a strict limit may have refused this request."""
        return any(
            not history.setting_is_as_of(record.policy_revision, name)
            for history in self._strict
            for name in ("stale_policy", "stale_policy_seconds")
        )


def step_settings(settings: PolicySettings) -> PolicySettings:
    """Return the settings that the decision steps read; the others have their defaults.

    A request with a record was not refused by ``audit_mode``. ``log_query_strings`` changes records only.
    """
    return replace(
        settings,
        audit_mode=_DEFAULTS.audit_mode,
        log_query_strings=_DEFAULTS.log_query_strings,
        stale_policy=_DEFAULTS.stale_policy,
        stale_policy_seconds=_DEFAULTS.stale_policy_seconds,
    )


def _limit(settings: PolicySettings) -> int | None:
    """Return the maximum age of the policy in seconds, None without one."""
    return settings.stale_policy_seconds if settings.stale_policy is StalePolicy.STRICT else None
