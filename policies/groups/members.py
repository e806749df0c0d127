"""Members of groups: user changes caused by the deletion of groups, and checks of the groups of a user.

Users are reached through the reverse relation, to avoid importing accounts.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.segments import shard_of_user
from gatewall.kernel.changes import Change, Described, Resource, difference
from gatewall.kernel.refusals import Conflict
from policies.models import Group

_CHUNK = 500
MAX_GROUPS_OF_A_USER = 50
"""``Remote-Groups`` lists all groups of a user, and proxies buffer 4 KiB of response headers."""


class GroupRemoved(Conflict):
    """The group was deleted since the request was read."""

    code = "group-removed"


def groups_of_a_user(groups: Iterable[Group]) -> list[Group]:
    """Re-read the groups of a user under the lock. Raises ValidationError for too many, GroupRemoved."""
    found = still_existing(groups)
    if len(found) > MAX_GROUPS_OF_A_USER:
        words = gettext_lazy("a user is in at most %(number)s groups")
        raise ValidationError({"groups": ValidationError(words, params={"number": MAX_GROUPS_OF_A_USER})})
    return found


def still_existing(groups: Iterable[Group]) -> list[Group]:
    """Re-read the groups under the lock. Raises GroupRemoved."""
    ids = {group.pk for group in groups}
    rows = list(Group.objects.filter(pk__in=ids))
    if len(rows) != len(ids):
        raise GroupRemoved(_("a group in the request no longer exists"))
    return rows


class Members:
    """The members of these groups, with all groups of each member, when this object is created."""

    def __init__(self, groups: Iterable[int]) -> None:
        """``groups``: ids."""
        of_these = _links().filter(group__in=groups)
        self._names = dict(of_these.order_by("user").values_list("user", "user__username"))
        self._before = self._groups_now()

    @property
    def segments(self) -> set[str]:
        """Return the segments in which the members are published."""
        return {shard_of_user(id_) for id_ in self._names}

    def changes(self) -> Iterator[Change | None]:
        """Yield the change of each member since this object was created."""
        after = self._groups_now()
        for id_ in self._names:
            yield difference(self._described(id_, self._before), self._described(id_, after))

    def _described(self, id_: int, groups: Mapping[int, list[str]]) -> Described:
        return Described(Resource.USERS, id_, self._names[id_], {"groups": groups.get(id_, [])})

    def _groups_now(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        ids = list(self._names)
        for start in range(0, len(ids), _CHUNK):
            links = _links().filter(user__in=ids[start : start + _CHUNK]).order_by("user", "group")
            for id_, name in links.values_list("user", "group__name"):
                found.setdefault(id_, []).append(name)
        return found


def _links() -> QuerySet[Any]:
    links: QuerySet[Any] = Group.users.through.objects.all()
    return links
