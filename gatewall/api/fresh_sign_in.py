"""Require a recent sign-in before creating credentials that outlive the session.

A stolen session could otherwise create a permanent credential. ``accounts`` registers the check (``register_check``),
as its sibling apps must not import it.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from django.http import HttpRequest
from rest_framework.request import Request

from gatewall.api.serializers import StrictInput, TextField


class SignInCheck(Protocol):
    """Module ``accounts.fresh_sign_in``."""

    def is_fresh(self, request: HttpRequest | Request) -> bool: ...

    def require(self, request: HttpRequest | Request, *, password: str | None, code: str | None) -> None: ...


_check: list[SignInCheck] = []


def register_check(check: SignInCheck) -> None:
    """Register the check."""
    _check[:] = [check]


def is_fresh(request: HttpRequest | Request) -> bool:
    """Return whether the caller signed in within the last ten minutes, with their second factor if they have one."""
    return _check[0].is_fresh(request)


def require_fresh_sign_in(
    request: HttpRequest | Request, *, password: str | None = None, code: str | None = None
) -> None:
    """Raise a Refusal unless the sign-in is fresh, or the code or, without a second factor, the password is correct."""
    _check[0].require(request, password=password, code=code)


class FreshInput(StrictInput):
    """Base of inputs that create a credential: the password or a code is required unless the sign-in is fresh."""

    password = TextField(max_length=1024, trim_whitespace=False, write_only=True, required=False)
    code = TextField(max_length=64, write_only=True, required=False)

    def get_fields(self) -> Any:
        fields = super().get_fields()
        for name in ("password", "code") if self.partial else ():
            del fields[name]
        return fields


def reauthenticated_values(request: Request, form: StrictInput) -> Mapping[str, Any]:
    """Return the values of a valid body, after re-authentication if its type requires it. Raises a Refusal."""
    values = dict(form.validated_data)
    if isinstance(form, FreshInput):
        require_fresh_sign_in(request, password=values.pop("password", None), code=values.pop("code", None))
    return values
