"""Convert account rows to the engine's values."""

from collections import defaultdict
from datetime import datetime

from accounts import selectors
from accounts.models import User
from gatewall.database.prepared import Prepared
from gatewall.engine.segments import USERS_A_SHARD, shard_of_user
from gatewall.engine.users import UserState

_ID_SINCE = Prepared(lambda least: User.objects.filter(id__gte=least).order_by("id").values_list("id")[:1])
_USERS = Prepared(
    lambda first, end: User.objects.filter(id__gte=first, id__lt=end).values_list(
        "id", "username", "email", "is_admin", "is_active", "session_version", "all_domains"
    )
)
_DOMAINS = Prepared(
    lambda first, end: User.authorized_domains.through.objects.filter(user_id__gte=first, user_id__lt=end).values_list(
        "user_id", "authorizeddomain__name"
    )
)
_GROUPS = Prepared(
    lambda first, end: User.groups.through.objects.filter(user_id__gte=first, user_id__lt=end).values_list(
        "user_id", "group_id"
    )
)


def user_shards() -> list[str]:
    """Return the shards that have users."""
    # One index seek per shard that has users: gaps in the ids cost nothing.
    found: list[str] = []
    next_ = 0
    while first := _ID_SINCE.first(next_):
        (id_,) = first
        found.append(shard_of_user(id_))
        next_ = (id_ // USERS_A_SHARD + 1) * USERS_A_SHARD
    return found


def users(shard: str) -> tuple[UserState, ...]:
    """Return the state of each user of a shard, for the checks of session tokens and git tokens."""
    first = int(shard) * USERS_A_SHARD
    end = first + USERS_A_SHARD
    domains: defaultdict[int, set[str]] = defaultdict(set)
    for user_id, name in _DOMAINS(first, end):
        domains[user_id].add(name)
    groups: defaultdict[int, set[int]] = defaultdict(set)
    for user_id, group_id in _GROUPS(first, end):
        groups[user_id].add(group_id)
    rows = _USERS(first, end)
    return tuple(UserState(*row, frozenset(domains[row[0]]), frozenset(groups[row[0]])) for row in rows)


def revoked_sessions(at: datetime) -> frozenset[str]:
    """Return the ids of revoked tokens, kept beyond expiry because clocks may be fast."""
    return frozenset(str(jti) for jti in selectors.revoked_sessions(at).values_list("jti", flat=True))
