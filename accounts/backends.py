"""Django authentication backend that only loads users of admin sessions."""

from django.http import HttpRequest

from accounts import selectors
from accounts.models import User


class AccountsBackend:
    """Load the user of a Django session; sign-in goes through ``accounts.sign_in.login``."""

    def authenticate(self, request: HttpRequest | None, **credentials: object) -> User | None:
        """Return None: only ``accounts.sign_in.login`` counts attempts and asks for the second factor."""
        return None

    def get_user(self, user_id: int) -> User | None:
        return selectors.active_user(user_id)
