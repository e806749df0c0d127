"""Sign-in method: one-time recovery codes, for users who have lost their second factor."""

import hashlib
import secrets
from datetime import datetime

from accounts import selectors
from accounts.models import RecoveryCode, User
from accounts.sign_in import totp_codes

CODES = 10
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u
_LENGTH, _GROUP = 16, 4  # 80 random bits: a fast hash is enough


def replace(user: User) -> list[str]:
    """Give the user new codes and return them; they cannot be shown again. Deletes the old ones."""
    codes = ["".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH)) for _ in range(CODES)]
    remove(user)
    RecoveryCode.objects.bulk_create(RecoveryCode(user=user, digest=_digest(user, code)) for code in codes)
    return ["-".join(code[start : start + _GROUP] for start in range(0, _LENGTH, _GROUP)) for code in codes]


def remove(user: User) -> None:
    """Delete the user's codes."""
    RecoveryCode.objects.filter(user=user).delete()


def are_set_up(user: User) -> bool:
    """Return whether the user has an unused code, and a second factor that it replaces."""
    return RecoveryCode.objects.filter(user=user).exists() and selectors.has_second_factor(user)


def is_code(text: str) -> bool:
    """Return whether this may be a recovery code: whatever does not look like a code of an authenticator app."""
    return not totp_codes.is_code(totp_codes.plain(text))


def use_code(user: User, code: str, _at: datetime) -> bool:
    """Use up a code; return whether it is correct. Only one of concurrent uses succeeds, also across hosts."""
    used = RecoveryCode.objects.filter(user=user, digest=_digest(user, totp_codes.plain(code))).delete()[0]
    return bool(used) and selectors.has_second_factor(user)


def _digest(user: User, code: str) -> str:
    return hashlib.sha256(f"recovery-code:{user.pk}:{code}".encode("utf-8", "replace")).hexdigest()
