"""Kinds and severities of security events. Pure; a closed list: never reuse a value."""

from collections.abc import Mapping
from enum import StrEnum


class EventSeverity(StrEnum):
    """How urgently an operator should look at an event."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class EventKind(StrEnum):
    """The kinds of security events."""

    LOGIN_SUCCEEDED = "login.succeeded"
    LOGIN_FAILED = "login.failed"
    LOGIN_LOCKED = "login.locked"
    TWO_FACTOR_FAILED = "two-factor.failed"
    TWO_FACTOR_ENABLED = "two-factor.enabled"
    TWO_FACTOR_DISABLED = "two-factor.disabled"
    TWO_FACTOR_RECOVERED = "two-factor.recovered"
    RECOVERY_REFUSED = "recovery.refused"
    SESSION_REVOKED = "session.revoked"
    USER_CHANGED = "user.changed"
    POLICY_CHANGED = "policy.changed"
    SETTINGS_CHANGED = "settings.changed"
    TOKEN_ISSUED = "token.issued"
    TOKEN_REVOKED = "token.revoked"
    CLIENT_BANNED = "client.banned"
    CLIENT_SUSPECTED = "client.suspected"
    ATTACK_DETECTED = "attack.detected"
    REQUEST_BLOCKED = "request.blocked"
    POLICY_REJECTED = "policy.rejected"
    LOG_GAP = "log.gap"
    PROXY_UNTRUSTED = "proxy.untrusted"
    CLOCK_JUMPED = "clock.jumped"
    WEBHOOK_DISABLED = "webhook.disabled"
    POLICY_UNCONFIRMED = "policy.unconfirmed"
    LOG_SHORTENED = "log.shortened"


SEVERITIES: Mapping[EventKind, EventSeverity] = {
    EventKind.LOGIN_SUCCEEDED: EventSeverity.INFO,
    EventKind.LOGIN_FAILED: EventSeverity.LOW,
    EventKind.LOGIN_LOCKED: EventSeverity.MEDIUM,
    EventKind.TWO_FACTOR_FAILED: EventSeverity.MEDIUM,
    EventKind.TWO_FACTOR_ENABLED: EventSeverity.INFO,
    EventKind.TWO_FACTOR_DISABLED: EventSeverity.MEDIUM,
    EventKind.TWO_FACTOR_RECOVERED: EventSeverity.HIGH,
    EventKind.RECOVERY_REFUSED: EventSeverity.HIGH,
    EventKind.SESSION_REVOKED: EventSeverity.INFO,
    EventKind.USER_CHANGED: EventSeverity.MEDIUM,
    EventKind.POLICY_CHANGED: EventSeverity.LOW,
    EventKind.SETTINGS_CHANGED: EventSeverity.MEDIUM,
    EventKind.TOKEN_ISSUED: EventSeverity.LOW,
    EventKind.TOKEN_REVOKED: EventSeverity.LOW,
    EventKind.CLIENT_BANNED: EventSeverity.HIGH,
    EventKind.CLIENT_SUSPECTED: EventSeverity.HIGH,
    EventKind.ATTACK_DETECTED: EventSeverity.CRITICAL,
    EventKind.REQUEST_BLOCKED: EventSeverity.LOW,
    EventKind.POLICY_REJECTED: EventSeverity.HIGH,
    EventKind.LOG_GAP: EventSeverity.HIGH,
    EventKind.PROXY_UNTRUSTED: EventSeverity.MEDIUM,
    EventKind.CLOCK_JUMPED: EventSeverity.MEDIUM,
    EventKind.WEBHOOK_DISABLED: EventSeverity.HIGH,
    EventKind.POLICY_UNCONFIRMED: EventSeverity.HIGH,
    EventKind.LOG_SHORTENED: EventSeverity.MEDIUM,
}
"""The severity of each kind: fixed, so that a filter by kind is predictable."""
