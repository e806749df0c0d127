"""The least that an application can do: the ceiling of the data plane under the same server."""

from typing import Any

from gatewall.server.answer_bytes import Answer

_OK = Answer(200, ())


class BareApplication:
    """Answers 200 to everything, and keeps no record."""

    def __call__(self, *request: Any) -> Answer:
        """Return the answer."""
        return _OK

    def close(self) -> None:
        """Do nothing: there is nothing to bring to disk."""


def application() -> BareApplication:
    """Return it, as the worker calls it."""
    return BareApplication()
