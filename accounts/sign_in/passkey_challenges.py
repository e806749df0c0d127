"""Challenges of passkey ceremonies: random, bound to a browser and a purpose, valid for five minutes, accepted once.

A challenge is its expiry and a random number, with a keyed digest over both, the purpose and the secret cookie of the
browser. It needs no row, so requests of strangers store nothing. A row is written when a challenge is answered.
"""

import hashlib
import hmac
import secrets
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils.crypto import salted_hmac

from accounts.models import UsedPasskeyChallenge
from accounts.sign_in.passkey_refusals import PasskeyRefused, Why

LIFETIME = timedelta(minutes=5)
_SALT = "accounts.sign_in.passkey_challenges"
_TIME, _RANDOM = 8, 24


def new_browser_secret() -> str:
    """Return the value of the cookie that binds a challenge to a browser."""
    return secrets.token_urlsafe(32)


def begin(purpose: str, browser_secret: str, *, at: datetime) -> bytes:
    """Return a new challenge for a purpose, for the browser with this cookie."""
    expires_at = int((at + LIFETIME).timestamp())
    head = expires_at.to_bytes(_TIME, "big") + secrets.token_bytes(_RANDOM)
    return head + _digest(head, purpose, browser_secret)


def use_up(challenge: bytes, purpose: str, browser_secret: str, *, at: datetime) -> None:
    """Accept a challenge once. Raises PasskeyRefused if it is forged, for another browser or purpose, late or used."""
    head, digest = challenge[: _TIME + _RANDOM], challenge[_TIME + _RANDOM :]
    if not browser_secret or not hmac.compare_digest(digest, _digest(head, purpose, browser_secret)):
        raise PasskeyRefused(Why.OTHER_CHALLENGE)
    expires_at = datetime.fromtimestamp(int.from_bytes(head[:_TIME], "big"), tz=UTC)
    if not at < expires_at:
        raise PasskeyRefused(Why.LATE)
    try:
        with transaction.atomic():
            UsedPasskeyChallenge(digest=hashlib.sha256(challenge).hexdigest(), expires_at=expires_at).save(
                force_insert=True
            )
    except IntegrityError:
        raise PasskeyRefused(Why.REPLAYED) from None


def _digest(head: bytes, purpose: str, browser_secret: str) -> bytes:
    return salted_hmac(_SALT, head + f"|{purpose}|{browser_secret}".encode(), algorithm="sha256").digest()
