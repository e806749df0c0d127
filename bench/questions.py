"""Requests of bench.lists: filters and orders with an index (docs/api.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Question:
    """A list with these parameters."""

    name: str
    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)


QUESTIONS = (
    Question("blocklist", "/ip-black-list"),
    Question("blocklist, newest first", "/ip-black-list", {"ordering": "-id"}),
    Question("blocklist by source", "/ip-black-list", {"source": "import:bench"}),
    Question("blocklist by address", "/ip-black-list", {"ip": "11.0.0.77"}),
    Question("blocklist in order of creation", "/ip-black-list", {"ordering": "-created_at"}),
    Question("blocklist in order of expiry", "/ip-black-list", {"ordering": "expires_at"}),
    Question("blocklist in order of address", "/ip-black-list", {"ordering": "ip"}),
    Question("users", "/users"),
    Question("users by name", "/users", {"username": "MANY77"}),
    Question("users in order of name", "/users", {"ordering": "username"}),
    Question("git tokens of a user", "/users/77/git-tokens"),
    Question("licenses", "/licenses"),
    Question("licenses by name", "/licenses", {"name": "machine 77"}),
    Question("access log", "/access-logs"),
    Question("access log by client", "/access-logs", {"client_ip": "11.0.1.77"}),
    Question("access log by host", "/access-logs", {"host": "app1.example.com"}),
    Question("access log by reason", "/access-logs", {"reason": "waf-rule"}),
    Question("access log by subject", "/access-logs", {"subject_id": "17"}),
)
