"""Sign-in method: the password."""

from django.contrib.auth.hashers import check_password, make_password
from django.utils.functional import SimpleLazyObject

from accounts import selectors
from accounts.models import User
from accounts.validators import MAX_LENGTH

PAGE = "portal/sign_in/password.html"
_DUMMY_HASH = SimpleLazyObject(lambda: make_password("the password of nobody"))


def is_set_up(user: User) -> bool:
    """Return whether the user has a password."""
    return user.has_usable_password()


def is_correct(user: User, password: str) -> bool:
    """Return whether this is the user's password. Only the allowed length is hashed."""
    return len(password) <= MAX_LENGTH and check_password(password, user.password)


def verify(username: str, password: str) -> User | None:
    """Return the active user with this password, or None after the same time.

    Does not count attempts: a caller that takes passwords from strangers counts them first. Only the allowed length is
    hashed.
    """
    # evaluated once per process, before the look-up, so that timing does not reveal whether a user exists
    dummy_hash = str(_DUMMY_HASH)
    user = selectors.user_by_name(username)
    known = user is not None and user.is_active
    encoded = user.password if user is not None and known else dummy_hash
    matches = check_password(password[:MAX_LENGTH], encoded)
    return user if matches and known and len(password) <= MAX_LENGTH else None
