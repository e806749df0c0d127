"""API permissions. Deny by default."""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

_API = "api"


def _administrates(request: Request) -> bool:
    """True for an admin whose token was issued for the API; the admin site's session has no token.

    A token of the guard page is handed to every site behind the gate by a proxy that forgets to
    strip it, so it opens no more than the gate and its holder's own account.
    """
    if not getattr(request.user, "is_staff", False):
        return False
    audiences = getattr(request.auth, "audiences", None)
    return audiences is None or _API in audiences


class IsAdmin(BasePermission):
    """Admins who may still sign in."""

    message = "only admins may do this, with a token of /login or /admin-login"

    def has_permission(self, request: Request, view: Any) -> bool:
        return _administrates(request)


class IsAdminOrSelf(BasePermission):
    """Admins, and the user whose id is ``user_id`` or ``pk`` in the path, where the view lets them."""

    message = "only admins may do this to another user"

    def has_permission(self, request: Request, view: Any) -> bool:
        if _administrates(request):
            return True
        owner = view.kwargs.get("user_id", view.kwargs.get("pk"))
        return bool(request.user and request.user.is_authenticated and str(request.user.pk) == str(owner))
