"""Create, change and delete groups of users; their members are changed with the users."""

from collections.abc import Iterable
from typing import Any

from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.snapshot import Segment
from gatewall.kernel.changes import describe, difference
from gatewall.kernel.refusals import Conflict
from gatewall.policy import revisions
from policies import rows
from policies.groups.members import Members
from policies.models import AuthorizedDomain, Group
from policies.rule_references import grants_removed_with

MAX_GROUPS = 1000
"""Maximum number of groups: every worker keeps all of them in memory."""


class TooManyGroups(Conflict):
    """The maximum number of groups is reached."""

    code = "too-many-groups"


class GroupInUse(Conflict):
    """An access rule names the group."""

    code = "group-in-use"


@revisions.one_at_a_time
def create_group(*, actor: str, name: str, authorized_domains: Iterable[AuthorizedDomain] = (), **values: Any) -> Group:
    """Create a group without members. Raises ValidationError, Duplicate, TooManyGroups, DomainRemoved."""
    if Group.objects.count() >= MAX_GROUPS:
        raise TooManyGroups(_("there are %(number)s groups already"), number=f"{MAX_GROUPS:,}")
    group = Group(name=name, created_by=actor, **values)
    rows.write(group)
    group.authorized_domains.set(rows.still_registered(authorized_domains))
    revisions.advance(Segment.GROUPS, actor=actor, changes=[difference(None, describe(group))])
    return group


@revisions.one_at_a_time
def change_group(
    group: Group, *, actor: str, authorized_domains: Iterable[AuthorizedDomain] | None = None, **values: Any
) -> Group:
    """Change a group or its scope. Raises ValidationError, Duplicate, DomainRemoved, Gone."""
    group = revisions.as_it_is_now(group)
    before = describe(group)
    rows.write(group, **values)
    if authorized_domains is not None:
        group.authorized_domains.set(rows.still_registered(authorized_domains))
    revisions.advance(Segment.GROUPS, actor=actor, changes=[difference(before, describe(group))])
    return group


@revisions.one_at_a_time
def delete_group(group: Group, *, actor: str) -> None:
    """Delete a group with its grants. Its members are kept, but lose its scope. Raises GroupInUse, Gone."""
    group = revisions.as_it_is_now(group)
    if rules := list(group.access_rules.values_list("name", flat=True)):
        words = _("access rules name the group: %(rules)s; change or delete them first")
        raise GroupInUse(words, rules=", ".join(rules))
    members, gone = Members([group.pk]), rows.deletion(group)
    segments, grants = grants_removed_with(group=group)
    group.delete()
    changes = [gone, *grants, *members.changes()]
    revisions.advance(Segment.GROUPS, *segments, *members.segments, actor=actor, changes=changes)
