"""Issue session tokens (JWT) with simplejwt, signed with the key ring that the gate verifies against."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import jwt
from django.conf import settings
from rest_framework_simplejwt.exceptions import TokenBackendError
from rest_framework_simplejwt.tokens import Token

from accounts.models import Session
from gatewall.credentials.sessions import ALGORITHM, GATE_AUDIENCE, ISSUER, SESSION_TYPE, read_claims, verify_payload

GATE = GATE_AUDIENCE
API = "api"
"""Audience of tokens that the management API also accepts."""


class KeyRingBackend:
    """simplejwt token backend that signs with the first key of the ring and names it in ``kid``."""

    def encode(self, payload: Mapping[str, Any]) -> str:
        key = settings.GATEWALL_JWT_KEYS.signing
        claims = {**payload, "iss": ISSUER}
        return jwt.encode(claims, key.secret, algorithm=ALGORITHM, headers={"kid": key.kid})

    def decode(self, token: str | bytes, verify: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - simplejwt's
        text = token.decode("latin-1") if isinstance(token, bytes) else token
        payload = verify_payload(text, settings.GATEWALL_JWT_KEYS, issuer=ISSUER, audience=None)
        if payload is None or read_claims(payload) is None or not _is_audience(payload["aud"]):
            raise TokenBackendError("Token is invalid")
        return dict(payload)

    def get_leeway(self) -> timedelta:
        return timedelta(0)


def _is_audience(value: object) -> bool:
    """Return whether an ``aud`` claim includes one of our audiences, in each form of RFC 7519 section 4.1.3."""
    names = value if isinstance(value, list) else [value]
    return all(isinstance(name, str) for name in names) and not {GATE, API}.isdisjoint(names)


class SessionToken(Token):
    """A session token, verified on construction."""

    token_type = SESSION_TYPE
    lifetime = timedelta(hours=24)

    def get_token_backend(self) -> KeyRingBackend:  # type: ignore[override]  # has every method that Token calls
        return KeyRingBackend()

    @property
    def audiences(self) -> frozenset[str]:
        audience = self.payload.get("aud")
        return frozenset([audience] if isinstance(audience, str) else audience or ())


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A signed session token; its ``repr`` shows only the id."""

    text: str
    jti: uuid.UUID
    expires_at: datetime
    user_id: int

    def __repr__(self) -> str:
        return f"IssuedToken({self.jti})"


def issue(
    *,
    user_id: int,
    session_version: int,
    audiences: Iterable[str],
    amr: Iterable[str],
    at: datetime,
    lifetime: timedelta,
) -> IssuedToken:
    """Return a new session token, valid from ``at`` for ``lifetime``."""
    claims = {"sub": str(user_id), "sv": session_version, "amr": list(amr)}
    return _signed(uuid.uuid4(), claims, audiences=audiences, at=at, lifetime=lifetime)


def issue_again(session: Session) -> IssuedToken:
    """Return another token of a session, with its id, methods and expiry, for sites and the user's own account only."""
    claims = {"sub": str(session.user_id), "sv": session.session_version, "amr": session.amr}
    begun = session.issued_at.replace(microsecond=0)
    return _signed(session.pk, claims, audiences=[GATE], at=begun, lifetime=session.expires_at - begun)


def _signed(
    jti: uuid.UUID, claims: Mapping[str, Any], *, audiences: Iterable[str], at: datetime, lifetime: timedelta
) -> IssuedToken:
    token = SessionToken()
    token.set_iat(at_time=at)
    token.set_exp(from_time=at, lifetime=lifetime)
    token["jti"] = str(jti)
    token["nbf"] = token["iat"]
    for name, value in claims.items():
        token[name] = value
    audience = list(audiences)
    token["aud"] = audience[0] if len(audience) == 1 else audience
    return IssuedToken(str(token), jti, at.replace(microsecond=0) + lifetime, int(claims["sub"]))
