"""Account rows as engine values."""

from collections import defaultdict
from datetime import datetime

from accounts import selectors
from accounts.models import User
from gatewall.engine.snapshot import UserState


def users() -> tuple[UserState, ...]:
    """Return what a session or git token of each user is worth."""
    domains: defaultdict[int, set[str]] = defaultdict(set)
    links = User.authorized_domains.through.objects.values_list("user_id", "authorizeddomain__name")
    for user_id, name in links:
        domains[user_id].add(name)
    rows = User.objects.values_list(
        "id", "username", "email", "is_admin", "is_active", "session_version", "all_domains"
    )
    return tuple(UserState(*row, domains=frozenset(domains[row[0]])) for row in rows)


def revoked_sessions(at: datetime) -> frozenset[str]:
    """Return the ids of the tokens that were revoked and have not expired."""
    return frozenset(str(jti) for jti in selectors.revoked_sessions(at).values_list("jti", flat=True))
