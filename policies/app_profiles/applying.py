"""Apply an app profile: create its access rules for a domain."""

from typing import Any

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict
from gatewall.policy import revisions
from policies.access_rules.services import create_access_rules
from policies.app_profiles.loading import AppProfile, ProfileRule
from policies.models import AccessRule, AuthorizedDomain

_LONGEST_NAME = 100
_NAMED = 5


class ProfileApplied(Conflict):
    """The domain has rules of this profile already."""

    code = "profile-applied"


@revisions.one_at_a_time
def apply_profile(
    profile: AppProfile, domain: AuthorizedDomain, *, actor: str, caller: Caller | None = None
) -> list[AccessRule]:
    """Create the access rules of a profile for a domain, after all other rules and in one revision.

    Raises ProfileApplied, TooManyAccessRules, WouldLockYouOut, DomainRemoved.
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
    return create_access_rules(actor=actor, rules=rules, caller=caller)


def _name(profile: AppProfile, domain: AuthorizedDomain, rule: ProfileRule) -> str:
    """Return the name of the access rule; a long domain is cut."""
    room = _LONGEST_NAME - len(f"{profile.name} : {rule.name}")
    host = domain.name if len(domain.name) <= room else domain.name[: room - 1] + "…"
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
