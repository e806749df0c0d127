"""Require a recent sign-in before creating what outlives the session: tokens, secrets, keys.

A stolen session could otherwise make itself a credential that stays. ``accounts`` knows how to ask (``asked_by``), and
its siblings, which make such things, must not import it.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from django.http import HttpRequest
from rest_framework.request import Request

from gatewall.api.serializers import StrictInput, TextField


class Asker(Protocol):
    """Whoever knows when callers signed in and what proves who they are."""

    def is_fresh(self, request: HttpRequest | Request) -> bool:
        """True if the caller signed in so lately that nobody need ask again."""

    def require(self, request: HttpRequest | Request, *, password: str | None, code: str | None) -> None:
        """Raise a Refusal unless the sign-in is fresh or one of them is the caller's."""


_asker: list[Asker] = []


def asked_by(asker: Asker) -> None:
    """Ask callers by this from now on."""
    _asker[:] = [asker]


def is_fresh(request: HttpRequest | Request) -> bool:
    """True if the caller signed in so lately that nobody need ask again."""
    return _asker[0].is_fresh(request)


def require_fresh_sign_in(
    request: HttpRequest | Request, *, password: str | None = None, code: str | None = None
) -> None:
    """Raise a Refusal unless the caller signed in lately, or sent the own password or a code of the second factor."""
    _asker[0].require(request, password=password, code=code)


class FreshInput(StrictInput):
    """The body of a call that makes what outlives a session: with the password or a code, where one is asked for."""

    password = TextField(max_length=1024, trim_whitespace=False, write_only=True, required=False)
    code = TextField(max_length=64, write_only=True, required=False)

    def get_fields(self) -> Any:
        """Return the fields; a change of what there is asks nobody."""
        fields = super().get_fields()
        for name in ("password", "code") if self.partial else ():
            del fields[name]
        return fields


def proven(request: Request, form: StrictInput) -> Mapping[str, Any]:
    """Return the values of a valid body, once its sender was asked where its kind demands that. Raises a Refusal."""
    values = dict(form.validated_data)
    if isinstance(form, FreshInput):
        require_fresh_sign_in(request, password=values.pop("password", None), code=values.pop("code", None))
    return values
