"""Convert account rows to the engine's values."""

from collections import defaultdict
from datetime import datetime

from accounts import selectors
from accounts.models import User
from gatewall.engine.segments import USERS_A_SHARD, shard_of_user
from gatewall.engine.users import UserState


def user_shards() -> list[str]:
    """Return the shards that have users."""
    # One index seek per shard, so that gaps in the ids cost nothing.
    ids = User.objects.order_by("id").values_list("id", flat=True)
    found, id_ = [], ids.first()
    while id_ is not None:
        found.append(shard_of_user(id_))
        id_ = ids.filter(id__gte=(id_ // USERS_A_SHARD + 1) * USERS_A_SHARD).first()
    return found


def users(shard: str) -> tuple[UserState, ...]:
    """Return the state of each user of a shard, for the checks of session tokens and git tokens."""
    first = int(shard) * USERS_A_SHARD
    behind = first + USERS_A_SHARD
    domains: defaultdict[int, set[str]] = defaultdict(set)
    links = User.authorized_domains.through.objects.filter(user_id__gte=first, user_id__lt=behind)
    for user_id, name in links.values_list("user_id", "authorizeddomain__name"):
        domains[user_id].add(name)
    groups: defaultdict[int, set[int]] = defaultdict(set)
    members = User.groups.through.objects.filter(user_id__gte=first, user_id__lt=behind)
    for user_id, group_id in members.values_list("user_id", "group_id"):
        groups[user_id].add(group_id)
    rows = User.objects.filter(id__gte=first, id__lt=behind).values_list(
        "id", "username", "email", "is_admin", "is_active", "session_version", "all_domains"
    )
    return tuple(UserState(*row, frozenset(domains[row[0]]), frozenset(groups[row[0]])) for row in rows)


def revoked_sessions(at: datetime) -> frozenset[str]:
    """Return the ids of revoked tokens, kept beyond expiry because clocks may be fast."""
    return frozenset(str(jti) for jti in selectors.revoked_sessions(at).values_list("jti", flat=True))
