"""Present the access rules of a host on a page: the rule that decided, and why the others did not."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from gatewall.console.explain.presentation import row_shown
from gatewall.engine.access_rules.conditions import Condition
from gatewall.engine.hosts import Access

LEVELS = {
    Access.PUBLIC.value: _("public"),
    Access.AUTHENTICATED.value: _("signed in"),
    Access.TWO_FACTOR.value: _("with a second factor"),
    Access.PHISHING_RESISTANT.value: _("with a phishing-resistant sign-in"),
    Access.DENIED.value: _("denied"),
}
_FAILED: Mapping[str, str | Promise] = {
    Condition.EXPIRED.value: _("it has expired"),
    Condition.DOMAINS.value: _("it is for other hosts"),
    Condition.PATHS.value: _("it is for other paths"),
    Condition.METHODS.value: _("it is for other methods"),
    Condition.PREFLIGHT.value: _("it is for CORS preflights, and this request is not one"),
    Condition.NETWORKS.value: _("it is for other networks"),
    Condition.COUNTRIES.value: _("it is for other countries"),
    Condition.ASNS.value: _("it is for other autonomous systems"),
    Condition.TIME.value: _("it is for other times"),
    Condition.GROUPS.value: _("it is for other groups"),
    Condition.USERS.value: _("it is for other users"),
    Condition.CREDENTIAL_KINDS.value: _("it is for other kinds of credentials"),
}


def access_shown(access: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the access that a request needs with labels; None if it is unknown or its host has no rule."""
    if access is None or not access["readings"]:
        return None
    return {"level": LEVELS[access["level"]], "by_rule": access["rule"] is not None, "readings": _readings(access)}


def _readings(access: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [{**each, "rules": [_rule(rule) for rule in each["rules"]]} for each in access["readings"]]


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": rule["name"],
        "row": row_shown({"kind": "access-rules", "id": rule["id"]}),
        "level": LEVELS[rule["access"]],
        "decides": rule["decides"],
        "words": _words(rule),
    }


def _words(rule: Mapping[str, Any]) -> str | Promise:
    if rule["decides"]:
        return _("decides")
    if rule["failed"]:
        return _FAILED[rule["failed"]]
    if not rule["reached"]:
        return _("an earlier rule decided")
    return _("the proxy did not send what it needs, and only stricter rules apply without it")
