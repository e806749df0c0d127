"""A running installation, and changes of it whose answers are asked for."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.support.openid_provider import OpenIdProvider
from tests.support.servers import Admin, Headers, about

PASSWORD = "wrong donkey cell pin"


class Change(NamedTuple):
    """A write, a question whose answer it changes, and that answer before and after."""

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
        """A name that nothing has yet, for a change that may be made again."""
        return f"n{next(self.numbers)}-{name}"

    def new_client(self) -> str:
        return f"203.0.113.{next(self.numbers)}"

    def user(self, name: str = "", **values: Any) -> tuple[int, Headers]:
        """Create a user and sign in: the id, and a question with the session's token."""
        name = name or self.new("user")
        user = self.admin.post("/users", username=name, password=PASSWORD, **values)
        return user["id"], about(Service_Authorization=Admin(self.control, name, PASSWORD).token)

    def mine(self, **where: str) -> Headers:
        """A question with the admin's token."""
        return about(**where, Service_Authorization=self.admin.token)
