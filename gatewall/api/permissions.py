"""API permissions. Deny by default."""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from gatewall.api.scopes import ScopedAccess, reads, require_scope

_API = "api"


def _administrates(request: Request, view: Any) -> bool:
    """Return whether the caller is an admin with a credential for the API (the admin site's session has no token).

    A proxy that does not strip cookies passes guard-page tokens to every site behind the gate, so they grant access
    only to the gate and the holder's own account. Raises ScopeMissing, SessionRequired for API tokens.
    """
    if not getattr(request.user, "is_staff", False):
        return False
    if isinstance(request.auth, ScopedAccess):
        require_scope(request, view)
        return True
    return _is_for_api(request)


def _audits(request: Request, view: Any) -> bool:
    """Return whether the caller is an auditor, with a credential for the API, and the operation only reads."""
    is_auditor = getattr(request.user, "may_audit", False) and _is_for_api(request)
    return is_auditor and getattr(view, "area", None) is not None and reads(view, str(request.method))


def _is_for_api(request: Request) -> bool:
    audiences = getattr(request.auth, "audiences", None)
    return audiences is None or _API in audiences


class IsAdmin(BasePermission):
    """Allow active admins; allow auditors to read."""

    message = "only admins may do this, with a token of /login or /admin-login"

    def has_permission(self, request: Request, view: Any) -> bool:
        return _administrates(request, view) or _audits(request, view)


class IsAdminOrSelf(BasePermission):
    """Allow admins, auditors who read, and the user with the path's ``user_parameter``."""

    message = "only admins may do this to another user"

    def has_permission(self, request: Request, view: Any) -> bool:
        if _administrates(request, view) or _audits(request, view):
            return True
        owner = view.kwargs.get(view.user_parameter)
        return bool(request.user and request.user.is_authenticated and str(request.user.pk) == str(owner))
