"""Advice after a refusal, by its code: pages show it after the reason. The API sends the code instead."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

_DELETE_ONE = gettext_lazy("Delete one that is not needed any more, then try again.")
_LOOK_AGAIN = gettext_lazy("Open the page again to see the current values.")
ADVICE: Mapping[str, str | Promise] = {
    "already-decided": gettext_lazy("Nothing is left to do; the page of the request says who decided."),
    "backtest-saved": gettext_lazy("Its changes are in the policy history."),
    "backtest-stale": gettext_lazy("Try the draft again, or save it over the newer change."),
    "builtin-rule": gettext_lazy("Disable it, and add your own rule instead."),
    "cannot-restore": gettext_lazy("Choose a later revision, or change the policy by hand."),
    "domain-removed": gettext_lazy("Register the domain again, or choose another one."),
    "duplicate": gettext_lazy("Change the existing one, or choose another name."),
    "expectation-failed": gettext_lazy("Change the policy so that it holds, or change the expectation first."),
    "grant-overruled": gettext_lazy("Change the access of the domain, or choose another domain."),
    "group-removed": gettext_lazy("Add the group again, or choose another one."),
    "identity-taken": gettext_lazy("Unlink it from that user first."),
    "last-admin": gettext_lazy("Make another user an administrator first."),
    "matches-everything": gettext_lazy("Write a narrower pattern."),
    "network-too-large": gettext_lazy("Choose a smaller network."),
    "no-monitor": gettext_lazy("Enforce it instead."),
    "no-shadow-policy": gettext_lazy("Set one first."),
    "not-found": _LOOK_AGAIN,
    "not-offered": gettext_lazy("The explanation of the decision says what else helps."),
    "nothing-to-confirm": gettext_lazy("Nothing is left to do; the policy history says what became of it."),
    "outbox-full": gettext_lazy("See why deliveries fail, and try again when some are sent."),
    "profile-applied": gettext_lazy("Remove it first if you want to apply it again."),
    "profile-not-applied": _LOOK_AGAIN,
    "too-many-api-tokens": _DELETE_ONE,
    "too-many-app-tokens": _DELETE_ONE,
    "too-many-git-tokens": _DELETE_ONE,
    "too-many-groups": _DELETE_ONE,
    "too-many-identity-providers": _DELETE_ONE,
    "too-many-waf-rules": _DELETE_ONE,
    "too-many-webhooks": _DELETE_ONE,
    "user-removed": gettext_lazy("Choose another user."),
    "webhook-disabled": gettext_lazy("Enable it first."),
    "would-lock-you-out": gettext_lazy("Put your address on the allowlist first, or make the change from elsewhere."),
}
"""The messages of all other refusals contain the advice, or the pages of visitors have a text of their own for them."""


def with_advice(message: str, code: str) -> str:
    """Return a translated message, followed by what to do about it."""
    if code not in ADVICE:
        return message
    return _("%(reason)s. %(advice)s") % {"reason": message.rstrip(".。"), "advice": ADVICE[code]}
