"""The routes of the URL conf, with the permission and an example path of each, for the permission tests."""

from django.urls import URLPattern, URLResolver, get_resolver, reverse

PUBLIC, SIGNED_IN, SELF, ADMIN = "public", "signed in", "self", "admin"
HEALTH = {("health", "GET"), ("health-live", "GET"), ("health-ready", "GET")}
MANAGED = (
    "ip-black-list",
    "ip-white-list",
    "waf-rules",
    "access-rules",
    "grants",
    "share-links",
    "authorized-domains",
    "geo-block-rules",
    "groups",
    "licenses",
    "users",
    "list-subscriptions",
    "webhooks",
    "identity-providers",
)
NO_PUT = {"geo-block-rules"}
DOORS = (
    *("login", "login-2fa", "login-passkey-begin", "login-passkey-finish", "admin-login", "admin-login-2fa"),
    *("admin-login-passkey-begin", "admin-login-passkey-finish", "admin-recover-2fa"),
)
PASSKEY, LINKS = ("passkey-begin", "passkey-finish"), ("invitation", "user-password-reset")
OWN = ("git-tokens", "app-tokens", "device-passes", "passkeys", "remembered-devices", "totp-devices")
TOTP = ("totp-setup", "totp-confirm", "totp-disable")

PERMISSIONS = {
    **dict.fromkeys(HEALTH, PUBLIC),
    **{(name, "POST"): PUBLIC for name in DOORS},
    ("password-reset", "POST"): PUBLIC,
    ("metrics", "GET"): PUBLIC,  # from this machine, whose network is trusted: tests/api/test_metrics.py
    ("session", "GET"): SIGNED_IN,
    ("logout", "POST"): SIGNED_IN,
    ("access-logs", "GET"): ADMIN,
    ("access-log", "GET"): ADMIN,
    ("policy-explain", "POST"): ADMIN,
    ("policy-who-can-enter", "GET"): ADMIN,
    ("authorized-domains-waf-report", "GET"): ADMIN,
    ("access-rules-suggestions", "GET"): ADMIN,
    ("waf-rules-batch", "POST"): ADMIN,
    ("waf-rules-test", "POST"): ADMIN,
    ("dashboard-stats", "GET"): ADMIN,
    ("access-log-stats", "GET"): ADMIN,
    ("security-events", "GET"): ADMIN,
    ("security-event-stats", "GET"): ADMIN,
    ("ip-black-list-unban", "POST"): ADMIN,
    ("app-profiles", "GET"): ADMIN,
    ("app-profile", "GET"): ADMIN,
    ("app-profile-apply", "POST"): ADMIN,
    ("app-profile-remove", "POST"): ADMIN,
    ("system-settings", "GET"): ADMIN,
    ("system-settings", "PUT"): ADMIN,
    ("system-reload", "POST"): ADMIN,
    ("system-doctor", "POST"): ADMIN,
    ("policy-revisions-list", "GET"): ADMIN,
    ("policy-revisions-detail", "GET"): ADMIN,
    ("policy-revisions-restore", "POST"): ADMIN,
    ("policy-revisions-confirm", "POST"): ADMIN,
    **{("policy-backtest-list", verb): ADMIN for verb in ("GET", "POST")},
    **{("policy-backtest-detail", verb): ADMIN for verb in ("GET", "DELETE")},
    **{("policy-plan-list", verb): ADMIN for verb in ("GET", "POST")},
    **{("policy-plan-detail", verb): ADMIN for verb in ("GET", "DELETE")},
    ("policy-apply", "POST"): ADMIN,
    ("policy-blast-radius", "GET"): ADMIN,
    **{("policy-shadow", verb): ADMIN for verb in ("GET", "PUT", "DELETE")},
    ("policy-shadow-promote", "POST"): ADMIN,
    ("policy-document", "GET"): ADMIN,
    ("policy-schema", "GET"): ADMIN,
    ("policy-document-compare", "POST"): ADMIN,
    ("schema", "GET"): ADMIN,
    ("docs", "GET"): ADMIN,
    **{(f"{name}-list", verb): ADMIN for name in MANAGED for verb in ("GET", "POST")},
    **{(f"{name}-detail", verb): ADMIN for name in MANAGED for verb in ("GET", "DELETE")},
    **{(f"{name}-detail", "PUT"): ADMIN for name in MANAGED if name not in NO_PUT},
    **{("api-tokens-list", verb): ADMIN for verb in ("GET", "POST")},
    **{("api-tokens-detail", verb): ADMIN for verb in ("GET", "DELETE")},
    **{(f"access-requests-{part}", "GET"): ADMIN for part in ("list", "detail")},
    **{(f"access-requests-{verb}", "POST"): ADMIN for verb in ("grant", "refuse")},
    ("webhooks-rotate", "POST"): ADMIN,
    ("webhooks-test", "POST"): ADMIN,
    ("webhook-deliveries-list", "GET"): ADMIN,
    ("webhook-deliveries-detail", "GET"): ADMIN,
    ("webhook-deliveries-resend", "POST"): ADMIN,
    ("users-detail", "GET"): SELF,
    **{(f"{name}-list", "GET"): SELF for name in (*OWN, "sessions")},
    **{(f"{name}-detail", verb): SELF for name in (*OWN, "sessions") for verb in ("GET", "DELETE")},
    **{(f"{name}-list", "POST"): SELF for name in ("git-tokens", "app-tokens", "device-passes")},
    **{(f"{name}-detail", "PUT"): SELF for name in ("passkeys", "totp-devices")},
    **{(name, "POST"): SELF for name in PASSKEY},
    **{(name, "POST"): SELF for name in TOTP},
    ("totp", "DELETE"): SELF,
    ("totp-unlock", "POST"): ADMIN,
    **{(name, "POST"): ADMIN for name in LINKS},
    ("password", "PUT"): SELF,
}
PAGES = {
    *("guard", "guard-without-slash", "second-factor", "sign-out", "step-up", "enrol", "enrol-confirm"),
    *("passkey", "passkey-sign-in-begin", "step-up-passkey", "step-up-passkey-begin", "account-passkey"),
    *("account-passkey-begin", "account-passkey-rename", "account-passkey-remove"),
    *("account-totp-rename", "account-totp-remove"),
    *("hand-off-grant", "hand-off-enter"),
    *("account", "account-password", "account-second-factor-off", "account-session-end", "account-session-end-all"),
    *(
        "account-api-token-delete",
        "account-app-token",
        "account-app-token-delete",
        "account-git-token",
        "account-git-token-delete",
    ),
    *("administration", "first-admin", "denied", "origin", "account-remembered-forget"),
    *("account-identity-link", "account-identity-unlink", "provider-start", "provider-callback"),
    *("provider-sign-out", "provider-logout"),
    *("password-forgot", "password-new", "accept-invitation", "password-new-passkey-begin"),
    *("accept-invitation-passkey", "accept-invitation-passkey-begin", "ask", "share", "logo", "theme"),
    *("account-devices", "account-device-take-back"),
}
"""Pages for visitors. For their permissions see tests/integration: test_account_page.py, test_step_up.py,
test_administration_page.py and the tests of providers."""


def patterns(resolver=None):
    for part in (resolver or get_resolver()).url_patterns:
        if isinstance(part, URLResolver):
            if part.app_name not in {"admin", "console", "help"}:  # tests/admin, tests/console
                yield from patterns(part)
        elif isinstance(part, URLPattern):
            yield part


def verbs(pattern):
    actions = getattr(pattern.callback, "actions", None)
    view = getattr(pattern.callback, "cls", None) or pattern.callback.view_class
    names = [name for name in view.http_method_names if (name in actions if actions else hasattr(view, name))]
    return {name.upper() for name in names} - {"HEAD", "OPTIONS"}


ROUTES = sorted(
    {(pattern.name, verb) for pattern in patterns() if pattern.name not in PAGES for verb in verbs(pattern)}
)


def path_of(name, user_id):
    of_a_user = {"user_id": user_id}
    arguments = {
        "users-detail": {"pk": user_id},
        **{f"{name}-detail": {**of_a_user, "pk": 999_999} for name in OWN},
        "sessions-detail": {**of_a_user, "jti": "00000000-0000-4000-8000-000000000000"},
        "app-profile": {"name": "jellyfin"},
        "app-profile-apply": {"name": "jellyfin"},
        "app-profile-remove": {"name": "jellyfin"},
        "access-log": {"decision_id": "019cebab-8748-7000-8000-000000000000"},
        **dict.fromkeys((f"{name}-list" for name in (*OWN, "sessions")), of_a_user),
        **dict.fromkeys(("password", "totp"), of_a_user),
        **dict.fromkeys(("totp-unlock", *TOTP, *LINKS, *PASSKEY), of_a_user),
    }
    if name.startswith("webhook-deliveries"):
        arguments[name] = {"webhook_id": 999_999} if name.endswith("-list") else {"webhook_id": 999_999, "pk": 999_999}
    by_id = ("-detail", "-waf-report", "-restore", "-confirm", "-rotate", "-grant", "-refuse", "webhooks-test")
    usual = {"pk": 999_999} if name.endswith(by_id) else {}
    return reverse(name, kwargs=arguments.get(name, usual)).removeprefix("/wall")
