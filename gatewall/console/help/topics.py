"""Help topics: the page of the documentation for each item of the sidebar."""

from collections.abc import Mapping

from gatewall.publication.resources import RESOURCES

START = "README.md"
TOPICS: Mapping[str, str] = {
    "": START,
    "overview": "operator.md#dashboard",
    "log": "operator.md#log",
    "app-profiles": "app-profiles.md",
    "suggested-rules": "operator.md#suggested-rules",
    "who-can-enter": "operator.md#who-can-enter",
    "first-site": "how-to/first-site.md",
    "access-requests": "operator.md#access-requests",
    "backup": "backup.md",
    "hosts": "how-to/many-hosts.md",
    "import": "operator.md#list-import",
    "blast-radius": "operator.md#blast-radius",
    "history": "operator.md#policy-history",
    "plans": "how-to/plan-a-change.md",
    "shadow": "operator.md#shadow-policy",
    "backtests": "operator.md#backtest",
    "explain": "operator.md#explain",
    "doctor": "operator.md#proxy-doctor",
    "accounts.passkey": "how-to/passkeys.md",
    "accounts.totpdevice": "how-to/two-factor-path.md",
    "audit.securityevent": "reference/events.md",
    "webhooks.delivery": "webhooks.md#retries",
    "webhooks.mail": "how-to/send-mail.md",
    **{each.model._meta.label_lower: each.help_page for each in RESOURCES},  # noqa: SLF001 - documented by Django
}
"""Pages of the documentation by view name or label of the model; the empty text stands for all other pages."""
