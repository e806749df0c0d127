"""Why a subject may access a domain: as an admin, by its own scope, or through groups. Pure."""

from dataclasses import asdict, dataclass
from typing import Any

from gatewall.engine.model import Subject
from gatewall.engine.snapshot import PolicySnapshot


@dataclass(frozen=True, slots=True)
class ScopeSources:
    """Whether the subject is an admin, whether its own scope covers the domain, and the groups whose scope does.

    ``token``: whether the scope of an app token covers the domain; None for other subjects, which have no second scope.
    """

    admin: bool
    own: bool
    groups: tuple[str, ...]
    token: bool | None = None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "groups": list(self.groups)}


def scope_sources(subject: Subject | None, policy: PolicySnapshot | None, domain: str | None) -> ScopeSources | None:
    """Return why the subject may access the registered domain; None without a subject or policy."""
    if subject is None or policy is None:
        return None
    user = policy.users.get(subject.user_id) if subject.user_id is not None else None
    covers = user or subject  # a license has no user, and no groups
    own = covers.all_domains or domain in covers.domains
    groups = policy.groups.scope(subject.group_ids, all_domains=False, domains=frozenset()).groups
    limits = subject.limits
    token = None if limits is None else limits.covers(domain)
    return ScopeSources(subject.is_admin, own, tuple(group.name for group in groups if group.covers(domain)), token)
