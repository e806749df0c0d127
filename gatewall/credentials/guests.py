"""Cookies of guests who opened a share link: signed tokens (JWT) that name the link, and no user. No clock, no I/O.

Whether the link is in force is read from the policy each time, by its digest.
"""

import uuid

import jwt

from gatewall.credentials.keyring import KeyRing
from gatewall.credentials.sessions import (
    ALGORITHM,
    CLOCK_SKEW_SECONDS,
    GATE_AUDIENCE,
    ISSUER,
    read_lifetime,
    verify_payload,
)
from gatewall.engine.values import value

GUEST_TYPE = "guest"
LIFETIME_SECONDS = 30 * 86_400
"""Lifetime of the cookie, the longest of a share link; each link's expiry is in the policy, and may be extended."""


@value
class GuestClaims:
    """Claims of a guest's cookie with a good signature and shape. ``digest`` is that of the link's token."""

    digest: str
    begins_at: int
    expires_at: int

    def in_force(self, at: float) -> bool:
        """True if the token is valid at this time, with a minute of clock skew for its start."""
        return self.begins_at <= at + CLOCK_SKEW_SECONDS and at < self.expires_at


class GuestVerifier:
    """Verifies the cookies of guests."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def verify(self, token: str) -> GuestClaims | None:
        """Return the claims if signature, type and shape are good, else None."""
        payload = verify_payload(token, self._keys, issuer=ISSUER, audience=GATE_AUDIENCE)
        if payload is None or payload.get("typ") != GUEST_TYPE or not isinstance(payload["sub"], str):
            return None
        lifetime = read_lifetime(payload)
        if lifetime is None:
            return None
        issued_at, not_before, expires_at = lifetime
        return GuestClaims(payload["sub"], max(issued_at, not_before), expires_at)


def cookie_for(digest: str, keys: KeyRing, at: float) -> str:
    """Return the cookie of a browser that opened the link with this digest."""
    begin = int(at)
    claims = {
        "iss": ISSUER,
        "aud": GATE_AUDIENCE,
        "typ": GUEST_TYPE,
        "sub": digest,
        "jti": str(uuid.uuid4()),
        "sv": 0,
        "iat": begin,
        "nbf": begin,
        "exp": begin + LIFETIME_SECONDS,
    }
    return jwt.encode(claims, keys.signing.secret, algorithm=ALGORITHM, headers={"kid": keys.signing.kid})
