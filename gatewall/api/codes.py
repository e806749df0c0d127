"""All problem codes (docs/reference/errors.md). A code is never reused with another meaning."""

CODES = {
    400: "invalid",
    401: "not-authenticated",
    403: "not-allowed",
    404: "not-found",
    405: "method-not-allowed",
    406: "not-acceptable",
    409: "conflict",
    411: "length-required",
    412: "stale",
    413: "body-too-large",
    415: "unsupported-media-type",
    429: "too-many-requests",
    500: "internal-error",
    503: "unavailable",
}
"""Default code of each status."""

REFUSAL_CODES = frozenset({
    "address-shared", "admin-exists", "admin-required", "already-decided", "backtest-not-finished", "backtest-saved",
    "backtest-stale", "builtin-rule",
    "cannot-restore", "code-entry-locked", "code-required", "cross-site", "doctor-busy", "document-refused",
    "domain-removed",
    "duplicate", "expectation-failed", "grant-overruled", "group-in-use", "group-removed", "identity-refused",
    "identity-taken",
    "invalid-challenge", "invalid-code", "invalid-credentials", "invalid-hand-off", "last-admin", "last-way-in",
    "list-changed", "logout-token-used", "matches-everything", "network-too-large", "no-monitor", "no-shadow-policy",
    "link-over", "mail-not-configured", "not-offered", "nothing-to-confirm", "outbox-full", "passkey-refused",
    "passkeys-unavailable", "profile-applied", "profile-not-applied", "provider-denied", "provider-unavailable",
    "reauthentication-failed", "reauthentication-required", "recovery-local-only", "recovery-refused",
    "scope-missing", "session-required", "share-link-over",
    "target-refused", "too-busy", "too-large-to-revert", "too-many-access-rules",
    "too-many-access-requests",
    "too-many-api-tokens", "too-many-app-tokens", "too-many-attempts", "too-many-backtests",
    "too-many-git-tokens", "too-many-device-passes", "too-many-grants", "too-many-groups", "too-many-share-links",
    "too-many-identity-providers", "too-many-passkeys", "too-many-waf-rules", "too-many-webhooks", "totp-enabled",
    "too-many-totp-devices", "user-disabled",
    "totp-not-set-up", "user-removed", "webhook-disabled", "would-lock-you-out",
})  # fmt: skip
"""Codes of services; each is the ``code`` of a ``gatewall.kernel.refusals.Refusal``, or the
``problem_code`` of an exception of DRF."""

PROBLEM_CODES = frozenset(CODES.values()) | REFUSAL_CODES
