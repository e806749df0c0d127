"""The state of a user that the decision reads. No I/O."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UserState:
    """A user's current state, for validating sessions and the user's tokens; ``groups`` are ids."""

    id: int
    username: str
    email: str
    is_admin: bool
    is_active: bool
    session_version: int
    all_domains: bool
    domains: frozenset[str]
    groups: frozenset[int] = frozenset()
