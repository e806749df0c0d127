"""Scopes of API tokens: which scope each operation of the API needs.

A view declares its ``area``. An operation reads if its method is safe or if it is declared with ``reads=True``; every
other operation writes. A view without an area accepts no API token.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Q
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Scope(StrEnum):
    """Scopes of an API token."""

    POLICY_READ = "policy:read"
    POLICY_WRITE = "policy:write"
    LOGS_READ = "logs:read"
    USERS_READ = "users:read"
    USERS_WRITE = "users:write"
    SYSTEM_READ = "system:read"
    SYSTEM_WRITE = "system:write"


@dataclass(frozen=True, slots=True)
class Area:
    """The scopes that the operations of a view need, to read and to write; None: API tokens are refused."""

    read: Scope | None
    write: Scope | None


POLICY = Area(Scope.POLICY_READ, Scope.POLICY_WRITE)
LOGS = Area(Scope.LOGS_READ, None)
USERS = Area(Scope.USERS_READ, Scope.USERS_WRITE)
SYSTEM = Area(Scope.SYSTEM_READ, Scope.SYSTEM_WRITE)
SESSION_ONLY = Area(None, None)
"""Operations for signed-in users only."""


@dataclass(frozen=True, slots=True)
class ScopedAccess:
    """The API token of a call (``request.auth``): its id, and its scopes."""

    token_id: int
    scopes: frozenset[str]


class ScopeMissing(PermissionDenied):
    """The API token lacks the scope that the operation needs."""

    problem_code = "scope-missing"

    def __init__(self, scope: Scope) -> None:
        super().__init__(f"the API token does not have the scope {scope}")


class SessionRequired(PermissionDenied):
    """The operation is for signed-in users; API tokens are refused."""

    problem_code = "session-required"
    default_detail = "an API token may not do this: sign in"


def reads(view: Any, method: str) -> bool:
    """Return whether the operation of a view only reads."""
    handler = getattr(view, getattr(view, "action", None) or method.lower(), None)
    return method in SAFE_METHODS or bool(getattr(getattr(handler, "operation", None), "reads", False))


def scope_of(view: Any, method: str) -> Scope | None:
    """Return the scope that the operation of a view needs, or None if API tokens are refused."""
    area: Area = getattr(view, "area", None) or SESSION_ONLY
    return area.read if reads(view, method) else area.write


def require_scope(request: Request, view: Any) -> None:
    """Raise ScopeMissing or SessionRequired if the caller's API token does not permit the operation.

    No token permits changes of an admin or auditor: whoever sets their password or second factor gains their rights.
    """
    if not isinstance(request.auth, ScopedAccess):
        return
    scope = scope_of(view, str(request.method))
    if scope is None:
        raise SessionRequired
    if scope not in request.auth.scopes:
        raise ScopeMissing(scope)
    user_id = view.kwargs.get(view.user_parameter)
    if not reads(view, str(request.method)) and user_id is not None:
        _refuse_privileged(int(user_id))


def lacks_scope(request: Request, scope: Scope) -> bool:
    """Return whether the caller is an API token without this scope; a session has every scope."""
    return isinstance(request.auth, ScopedAccess) and scope not in request.auth.scopes


def require_scopes_for(request: Request, changes: Iterable[tuple[Area, int | None]]) -> None:
    """Raise ScopeMissing or SessionRequired if the caller's API token does not permit changes in these areas.

    For an operation that contains the changes of other operations. The number is the id of a changed user, if any.
    """
    if not isinstance(request.auth, ScopedAccess):
        return
    for area, user_id in changes:
        if area.write is None:
            raise SessionRequired
        if area.write not in request.auth.scopes:
            raise ScopeMissing(area.write)
        if user_id is not None:
            _refuse_privileged(user_id)


def _refuse_privileged(user_id: int) -> None:
    if _is_privileged(user_id):
        raise SessionRequired("an API token may not change an admin or auditor: sign in")


def _is_privileged(user_id: int) -> bool:
    privileged = Q(is_admin=True) | Q(is_auditor=True)
    return bool(get_user_model().objects.filter(privileged, pk=user_id).exists())
