"""The resources of the API: a path, a valid body, and the changes that a PUT may send."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.proxies import PASSWORD


@dataclass(frozen=True)
class Kind:
    """One resource; ``body`` makes the body of the n-th row, ``change`` what a PUT may send."""

    path: str
    body: Callable[[int], dict[str, Any]]
    change: dict[str, Any] | None = None
    text: str = "remark"
    orderings: tuple[str, ...] = ("id", "created_at")
    read_only: dict[str, Any] = field(default_factory=lambda: {"id": 1, "created_at": "2020-01-01T00:00:00Z"})
    queries: int = 4

    def __str__(self) -> str:
        return self.path.strip("/")


KINDS = (
    Kind(
        "/users",
        lambda n: {"username": f"person{n}", "password": PASSWORD, "remark": f"text{n}."},
        {"email": "new@office.example"},
        orderings=("id", "created_at", "username", "last_login_at"),
        read_only={"id": 1, "created_by": "somebody"},
        queries=5,
    ),
    Kind(
        "/ip-black-list",
        lambda n: {"ip": f"203.0.113.{n}", "remark": f"text{n}."},
        {"remark": "changed"},
        orderings=("id", "created_at", "expires_at", "ip"),
        read_only={"id": 1, "source": "auto-ban", "created_by": "somebody"},
    ),
    Kind(
        "/ip-white-list",
        lambda n: {"ip": f"203.0.113.{n}", "remark": f"text{n}."},
        {"inspect": True},
        orderings=("id", "created_at", "expires_at", "ip"),
    ),
    Kind(
        "/waf-rules",
        lambda n: {"name": f"rule {n}", "pattern": f"attack{n}", "description": f"text{n}."},
        {"score": 7},
        text="description",
        orderings=("id", "created_at", "priority", "name", "category", "severity", "score", "hits"),
        read_only={"id": 1, "builtin": True},
    ),
    Kind(
        "/access-rules",
        lambda n: {
            "name": f"rule {n}",
            "access": "two_factor",
            "paths": [{"match": "prefix", "value": f"/area/{n}"}],
            "remark": f"text{n}.",
        },
        {"rate_per_minute": 7},
        orderings=("id", "created_at", "position", "name"),
        read_only={"id": 1, "created_by": "somebody"},
        queries=7,
    ),
    Kind(
        "/authorized-domains",
        lambda n: {"name": f"site{n}.example", "remark": f"text{n}."},
        {"access": "public"},
        orderings=("id", "created_at", "name"),
        queries=3,
    ),
    Kind(
        "/geo-block-rules",
        lambda n: {"country_code": ("NZ", "AU", "FR", "DE", "GB", "US")[n], "remark": f"text{n}."},
        orderings=("id", "created_at", "country_code"),
    ),
    Kind(
        "/groups",
        lambda n: {"name": f"group{n}", "description": f"text{n}."},
        {"all_domains": True},
        text="description",
        orderings=("id", "created_at", "name", "member_count"),
        read_only={"id": 1, "created_by": "somebody"},
    ),
    Kind(
        "/licenses",
        lambda n: {"name": f"machine {n}", "remark": f"text{n}."},
        {"is_active": False},
        orderings=("id", "created_at", "name", "expires_at"),
        read_only={"id": 1, "prefix": "gwl_000000"},
        queries=5,
    ),
    Kind(
        "/list-subscriptions",
        lambda n: {"name": f"list{n}", "url": f"https://lists.example/{n}.txt", "remark": f"text{n}."},
        {"interval_minutes": 60},
        orderings=("id", "created_at", "name", "next_at", "succeeded_at", "entries"),
        read_only={"id": 1, "created_by": "somebody"},
        queries=3,
    ),
    Kind(
        "/identity-providers",
        lambda n: {
            "slug": f"corp-{n}",
            "name": f"text{n}.",
            "issuer": f"https://login.example/{n}",
            "client_id": "gatewall",
        },
        {"enabled": False},
        text="name",
        orderings=("id", "created_at", "slug", "name"),
        read_only={"id": 1, "created_by": "somebody", "has_client_secret": True},
        queries=3,
    ),
    Kind(
        "/webhooks",
        lambda n: {"name": f"pager {n}", "url": f"https://receiver.example/{n}", "remark": f"text{n}."},
        {"enabled": False},
        orderings=("id", "created_at", "name", "failing_since", "succeeded_at"),
        read_only={"id": 1, "created_by": "somebody"},
        queries=3,
    ),
)
CHANGEABLE = tuple(kind for kind in KINDS if kind.change)


def make(admin, kind: Kind, count: int = 1) -> list[dict[str, Any]]:
    """Create rows over the API and return them as their creator saw them."""
    answers = [admin.post(kind.path, kind.body(number)) for number in range(count)]
    assert [answer.status_code for answer in answers] == [201] * count
    return [answer.json() for answer in answers]


def fields_refused(response) -> set[str]:
    """Return the names of the fields that a 400 complains of."""
    assert response.status_code == 400, response.content
    return {error["field"] for error in response.json()["errors"]}
