"""Client of a sign-in attempt: address, user agent and known devices."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Visitor:
    """Client address and user agent of a sign-in, and whether it comes from this machine.

    ``known_browser_of``: ids of users who have signed in with this browser before. ``remembered``: user ids and
    secrets in its cookie of remembered devices.
    """

    client_ip: str
    user_agent: str
    is_at_this_machine: bool = False
    known_browser_of: frozenset[int] = frozenset()
    remembered: tuple[tuple[int, str], ...] = field(default=(), repr=False)
