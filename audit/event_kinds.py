"""Kinds and severities of security events. Pure; a closed list: never reuse a value."""

from enum import StrEnum
from typing import Self


class EventSeverity(StrEnum):
    """How urgently an operator should look at an event."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class EventKind(StrEnum):
    """The kinds of security events, each with its severity: fixed, so that a filter by kind is predictable."""

    severity: EventSeverity

    def __new__(cls, value: str, severity: EventSeverity) -> Self:
        member = str.__new__(cls, value)
        member._value_, member.severity = value, severity
        return member

    LOGIN_SUCCEEDED = "login.succeeded", EventSeverity.INFO
    LOGIN_FAILED = "login.failed", EventSeverity.LOW
    LOGIN_LOCKED = "login.locked", EventSeverity.MEDIUM
    TWO_FACTOR_FAILED = "two-factor.failed", EventSeverity.MEDIUM
    TWO_FACTOR_ENABLED = "two-factor.enabled", EventSeverity.INFO
    TWO_FACTOR_DISABLED = "two-factor.disabled", EventSeverity.MEDIUM
    TWO_FACTOR_RECOVERED = "two-factor.recovered", EventSeverity.HIGH
    TOTP_DEVICE_ADDED = "totp-device.added", EventSeverity.INFO
    TOTP_DEVICE_REMOVED = "totp-device.removed", EventSeverity.MEDIUM
    DEVICE_REMEMBERED = "device.remembered", EventSeverity.INFO
    DEVICE_FORGOTTEN = "device.forgotten", EventSeverity.INFO
    PASSKEY_ADDED = "passkey.added", EventSeverity.INFO
    PASSKEY_REMOVED = "passkey.removed", EventSeverity.MEDIUM
    PASSKEY_REFUSED = "passkey.refused", EventSeverity.MEDIUM
    PASSKEY_CLONED = "passkey.cloned", EventSeverity.HIGH
    RECOVERY_REFUSED = "recovery.refused", EventSeverity.HIGH
    SESSION_REVOKED = "session.revoked", EventSeverity.INFO
    USER_CHANGED = "user.changed", EventSeverity.MEDIUM
    POLICY_CHANGED = "policy.changed", EventSeverity.LOW
    SETTINGS_CHANGED = "settings.changed", EventSeverity.MEDIUM
    TOKEN_ISSUED = "token.issued", EventSeverity.LOW
    TOKEN_REVOKED = "token.revoked", EventSeverity.LOW
    CLIENT_BANNED = "client.banned", EventSeverity.HIGH
    CLIENT_SUSPECTED = "client.suspected", EventSeverity.HIGH
    ATTACK_DETECTED = "attack.detected", EventSeverity.CRITICAL
    REQUEST_BLOCKED = "request.blocked", EventSeverity.LOW
    POLICY_REJECTED = "policy.rejected", EventSeverity.HIGH
    LOG_GAP = "log.gap", EventSeverity.HIGH
    PROXY_UNTRUSTED = "proxy.untrusted", EventSeverity.MEDIUM
    CLOCK_JUMPED = "clock.jumped", EventSeverity.MEDIUM
    WEBHOOK_DISABLED = "webhook.disabled", EventSeverity.HIGH
    POLICY_UNCONFIRMED = "policy.unconfirmed", EventSeverity.HIGH
    LOG_SHORTENED = "log.shortened", EventSeverity.MEDIUM
    POLICY_REVERTED = "policy.reverted", EventSeverity.HIGH
    WAF_MONITORING_ENDED = "waf.monitoring-ended", EventSeverity.HIGH
    PROVIDER_FAILED = "provider.failed", EventSeverity.MEDIUM
    PROVIDER_REFUSED = "provider.refused", EventSeverity.HIGH
    IDENTITY_LINKED = "identity.linked", EventSeverity.LOW
    IDENTITY_UNLINKED = "identity.unlinked", EventSeverity.LOW
    SHADOW_FAILED = "shadow.failed", EventSeverity.MEDIUM
    USER_INVITED = "user.invited", EventSeverity.LOW
    PASSWORD_RESET_REQUESTED = "password.reset-requested", EventSeverity.LOW
    PASSWORD_CHANGED = "password.changed", EventSeverity.LOW
    ACCESS_REQUESTED = "access.requested", EventSeverity.MEDIUM
    ACCESS_GRANTED = "access.granted", EventSeverity.LOW
    ACCESS_REFUSED = "access.refused", EventSeverity.LOW
    GRANT_CREATED = "grant.created", EventSeverity.LOW
    GRANT_CHANGED = "grant.changed", EventSeverity.LOW
    GRANT_DELETED = "grant.deleted", EventSeverity.LOW
    SHARE_LINK_CREATED = "share-link.created", EventSeverity.LOW
    SHARE_LINK_CHANGED = "share-link.changed", EventSeverity.LOW
    SHARE_LINK_DELETED = "share-link.deleted", EventSeverity.LOW
    DEVICE_PASS_CREATED = "device-pass.created", EventSeverity.LOW
    DEVICE_PASS_DELETED = "device-pass.deleted", EventSeverity.LOW
    SHARE_LINK_OPENED = "share-link.opened", EventSeverity.LOW
    SHARE_LINK_REFUSED = "share-link.refused", EventSeverity.LOW
    MAIL_FAILED = "mail.failed", EventSeverity.MEDIUM
