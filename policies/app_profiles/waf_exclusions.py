"""WAF exclusions of an app profile at a domain: add and remove them."""

from collections.abc import Callable
from typing import Any

from policies import services
from policies.app_profiles.loading import AppProfile
from policies.models import AuthorizedDomain, WafRule

_Exclusions = list[dict[str, Any]]


def add_exclusions(profile: AppProfile, domain: AuthorizedDomain, *, actor: str) -> list[WafRule]:
    """Add the missing exclusions of a profile at a domain; return the changed rules. Raises ValidationError."""
    return _change(profile, domain, actor, lambda there, own: [*there, *(each for each in own if each not in there)])


def remove_exclusions(profile: AppProfile, domain: AuthorizedDomain, *, actor: str) -> list[WafRule]:
    """Remove the exclusions of a profile at a domain; return the changed rules."""
    return _change(profile, domain, actor, lambda there, own: [each for each in there if each not in own])


def _change(
    profile: AppProfile,
    domain: AuthorizedDomain,
    actor: str,
    result: Callable[[_Exclusions, _Exclusions], _Exclusions],
) -> list[WafRule]:
    by_rule: dict[str, _Exclusions] = {}
    for each in profile.waf_exclusions:
        for key in each.rules:
            by_rule.setdefault(key, []).append({"domain": domain.name, **each.fields})
    changed = []
    for rule in WafRule.objects.filter(builtin_key__in=by_rule).order_by("pk"):
        exclusions = result(rule.exclusions, by_rule[rule.builtin_key or ""])
        if exclusions != rule.exclusions:
            changed.append(services.change_waf_rule(rule, actor=actor, exclusions=exclusions))
    return changed
