"""Apply an app profile to a domain, or remove it: its access rules and its WAF exclusions."""

import hashlib
from typing import Any

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict
from gatewall.policy import revisions
from policies.access_rules.services import create_access_rules, delete_access_rule
from policies.app_profiles.loading import AppProfile, ProfileRule, profiles
from policies.app_profiles.waf_exclusions import add_exclusions, remove_exclusions
from policies.models import AccessRule, AuthorizedDomain, WafRule

_LONGEST_NAME = 100
_NAMED = 5


class ProfileApplied(Conflict):
    """The domain has rules of this profile already."""

    code = "profile-applied"


class ProfileNotApplied(Conflict):
    """The domain has no rule and no exclusion of this profile."""

    code = "profile-not-applied"


def applied_profiles(domain: AuthorizedDomain) -> frozenset[str]:
    """Return the names of the profiles that are applied to a domain: those of which it has access rules."""
    there = set(AccessRule.objects.filter(domains=domain).values_list("name", flat=True))
    return frozenset(
        profile.name
        for profile in profiles().values()
        if any(_name(profile, domain, rule) in there for rule in profile.rules)
    )


@revisions.one_at_a_time
def apply_profile(
    profile: AppProfile, domain: AuthorizedDomain, *, actor: str, caller: Caller | None = None
) -> tuple[list[AccessRule], list[WafRule]]:
    """Create the access rules of a profile for a domain, after all others, and its WAF exclusions, in one revision.

    Return the access rules, and the WAF rules with new exclusions. Raises ProfileApplied, TooManyAccessRules,
    WouldLockYouOut, DomainRemoved, ValidationError for too many exclusions.
    """
    names = [_name(profile, domain, rule) for rule in profile.rules]
    if there := list(AccessRule.objects.filter(name__in=names).order_by("position")):
        named = ", ".join(f"{rule.position}. {rule.name}" for rule in there[:_NAMED])
        raise ProfileApplied(
            _("%(domain)s has %(number)s rules of this profile already: %(rules)s"),
            domain=domain.name,
            number=len(there),
            rules=named + (", …" if len(there) > _NAMED else ""),
        )
    rules = [_values(name, domain, rule) for name, rule in zip(names, profile.rules, strict=True)]
    with revisions.as_one_revision(actor):
        created = create_access_rules(actor=actor, rules=rules, caller=caller)
        return created, add_exclusions(profile, domain, actor=actor)


@revisions.one_at_a_time
def remove_profile(
    profile: AppProfile, domain: AuthorizedDomain, *, actor: str, caller: Caller | None = None
) -> tuple[list[str], list[str]]:
    """Delete the access rules and WAF exclusions that a profile created for a domain, in one revision.

    Return the names of the deleted and the changed rules. A renamed rule is kept. Raises ProfileNotApplied,
    WouldLockYouOut.
    """
    names = [_name(profile, domain, rule) for rule in profile.rules]
    with revisions.as_one_revision(actor):
        there = list(AccessRule.objects.filter(name__in=names).order_by("position"))
        for rule in there:
            delete_access_rule(rule, actor=actor, caller=caller)
        changed = remove_exclusions(profile, domain, actor=actor)
    if not there and not changed:
        raise ProfileNotApplied(_("%(domain)s has no rule of this profile"), domain=domain.name)
    return [rule.name for rule in there], [rule.name for rule in changed]


def _name(profile: AppProfile, domain: AuthorizedDomain, rule: ProfileRule) -> str:
    """Return the name of the access rule; a long domain is truncated, with a digest that tells it from others."""
    room, host = _LONGEST_NAME - len(f"{profile.name} : {rule.name}"), domain.name
    if len(host) > room:
        digest = hashlib.sha256(host.encode()).hexdigest()[:8]
        host = f"{host[: room - len(digest) - 1]}…{digest}"
    return f"{profile.name} {host}: {rule.name}"


def _values(name: str, domain: AuthorizedDomain, rule: ProfileRule) -> dict[str, Any]:
    return {
        "name": name,
        "access": rule.access.value,
        "domains": [domain],
        "paths": [{"match": path.match.value, "value": path.value} for path in rule.paths],
        "methods": list(rule.methods),
        "remark": " ".join(filter(None, (rule.opens, rule.safe_because, rule.needs))),
    }
