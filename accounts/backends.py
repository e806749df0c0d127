"""Django authentication backend: loads users of admin sessions, and signs nobody in."""

from django.http import HttpRequest

from accounts import selectors
from accounts.models import User


class AccountsBackend:
    """Finds the user of a Django session; there are no permissions beside ``is_admin``."""

    def authenticate(self, request: HttpRequest | None, **credentials: object) -> User | None:
        """Return nobody: every sign-in goes through ``accounts.login``, which counts and asks for the second factor."""
        return None

    def get_user(self, user_id: int) -> User | None:
        return selectors.active_user(user_id)
