"""Django's door to the accounts: what the admin's login form calls."""

from django.http import HttpRequest

from accounts import login, selectors
from accounts.models import User


class AccountsBackend:
    """Checks a password as every other sign-in does; there are no permissions beside ``is_admin``."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None
    ) -> User | None:
        return login.verify_password(username or "", password or "")

    def get_user(self, user_id: int) -> User | None:
        return selectors.active_user(user_id)
