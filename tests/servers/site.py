"""A running installation, and changes of it with a request each whose answer changes."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.support.openid_provider import OpenIdProvider
from tests.support.servers import Admin, Headers, about

PASSWORD = "wrong donkey cell pin"


class Change(NamedTuple):
    """A write, a request whose answer it changes, and that answer before and after."""

    write: Callable[[], Any]
    question: Headers
    before: int
    after: int


class Site(NamedTuple):
    """A running installation with two workers in each plane."""

    admin: Admin
    control: int
    auth: int
    recovery_key: str
    numbers: Iterator[int]
    provider: OpenIdProvider

    def new(self, name: str) -> str:
        """Return an unused name, for a change that may be repeated."""
        return f"n{next(self.numbers)}-{name}"

    def new_client(self) -> str:
        return f"203.0.113.{next(self.numbers)}"

    def user(self, name: str = "", **values: Any) -> tuple[int, Headers]:
        """Create a user and sign in; return the id, and a request with the session's token."""
        name = name or self.new("user")
        user = self.admin.post("/users", username=name, password=PASSWORD, **values)
        return user["id"], about(Service_Authorization=Admin(self.control, name, PASSWORD).token)

    def mine(self, **where: str) -> Headers:
        """Return a request with the admin's token."""
        return about(**where, Service_Authorization=self.admin.token)
