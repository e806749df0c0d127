"""Grants: temporary access for users and groups, besides their scope and access rules. No I/O.

Whether a grant has ended is judged by the time of the request, so no process has to end it.
"""

from collections.abc import Callable, Iterable, Sequence

from gatewall.engine.access_rules.paths import covers
from gatewall.engine.expiry import is_live
from gatewall.engine.model import AccessRequest, Reason
from gatewall.engine.values import value

LIFTED_BY_GRANTS = frozenset({Reason.HOST_NOT_IN_SCOPE, Reason.ACCESS_DENIED})
"""Refusals of a signed-in user that a grant may lift: the user may ask for one."""


@value
class Grant:
    """Access of a user, or of the members of a group, to a registered domain until ``expires_at``.

    One of ``user_id`` and ``group_id`` is set. ``path_prefix``: None covers every path. Without ``methods`` every
    method is covered.
    """

    id: int
    user_id: int | None
    group_id: int | None
    domain: str
    path_prefix: str | None
    methods: frozenset[str]
    expires_at: float | None

    def covers(self, request: AccessRequest, domain: str, readings: Callable[[], Sequence[str] | None]) -> bool:
        """True if it covers the request at this domain, by every reading of its path.

        A part that was not shown, or a path with too many readings, is not covered by a grant that limits it.
        """
        if self.domain != domain or not is_live(self.expires_at, request.at):
            return False
        if self.methods and not ("method" in request.visible and request.method in self.methods):
            return False
        if self.path_prefix is None:
            return True
        paths = readings() if "uri" in request.visible else None
        return paths is not None and all(covers((self.path_prefix,), path) for path in paths)


class GrantTable:
    """Grants by the users and groups that hold them."""

    def __init__(self, grants: Iterable[Grant] = ()) -> None:
        self._by_user: dict[int, tuple[Grant, ...]] = {}
        self._by_group: dict[int, tuple[Grant, ...]] = {}
        for grant in grants:
            if grant.user_id is not None:
                self._by_user[grant.user_id] = (*self._by_user.get(grant.user_id, ()), grant)
            if grant.group_id is not None:
                self._by_group[grant.group_id] = (*self._by_group.get(grant.group_id, ()), grant)
        self.has_any = bool(self._by_user or self._by_group)

    def of_user(self, user_id: int, group_ids: frozenset[int]) -> tuple[Grant, ...]:
        """Return the grants of a user and then those of the user's groups, also those that have ended."""
        own = self._by_user.get(user_id, ())
        groups = sorted(self._by_group.keys() & group_ids)
        return (*own, *(grant for id_ in groups for grant in self._by_group[id_]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GrantTable):
            return False
        return (self._by_user, self._by_group) == (other._by_user, other._by_group)

    __hash__ = None  # type: ignore[assignment]  # compared by its rows
