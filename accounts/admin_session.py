"""What a session of the Django admin was opened with. A session of one factor ends when its user has two."""

from collections.abc import Collection

from django.http import HttpRequest

from accounts import selectors
from accounts.models import User
from accounts.second_factor import RECOVERY_METHOD, TOTP_METHOD

_KEY = "gatewall.second-factor"


def remember(request: HttpRequest, amr: Collection[str]) -> None:
    """Note in a session that has just begun how its user proved to be one."""
    request.session[_KEY] = not {TOTP_METHOD, RECOVERY_METHOD}.isdisjoint(amr)


def is_enough(request: HttpRequest, user: User) -> bool:
    """True unless the user has a second factor and has not shown it in this session."""
    return bool(request.session.get(_KEY, False)) or not selectors.has_second_factor(user)
