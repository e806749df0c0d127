"""Verify session tokens (JWT, RFC 7519) and return their claims. No clock, no I/O.

The profile is narrow (RFC 8725 section 3): one algorithm, three header fields, one type, canonical base64url, no
duplicate names. So a token has one interpretation. Tokens are verified here and not by PyJWT, which makes some 510
calls (docs/adr/0113-sessions-are-verified-with-hmac.md); tests compare both.
"""

import hmac
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeGuard

from gatewall.credentials import base64url
from gatewall.credentials.keyring import KeyRing
from gatewall.engine.values import value

ALGORITHM = "HS256"
SESSION_TYPE = "session"
ISSUER = "gatewall"
GATE_AUDIENCE = "gate"
"""Audience of tokens valid for ``/auth`` and the holder's own account."""
CLOCK_SKEW_SECONDS = 60
_MAX_TOKEN = 4096
_HEADER_FIELDS = frozenset({"alg", "kid", "typ"})
_END_OF_TIME = 253_402_300_800  # the year 10000, beyond the calendar's range
_TIME = rb"([1-9][0-9]{0,10})"
_NAMES = rb'"[a-z]+"(?:,"[a-z]+")*'
_PLAIN = re.compile(
    rb'\{"typ":"session","exp":%(time)b,"iat":%(time)b,"jti":"([0-9A-Za-z-]+)","nbf":%(time)b,"sub":"([0-9]{1,18})",'
    rb'"sv":(0|[1-9][0-9]{0,17}),"amr":\[(%(names)b)\],"aud":("[a-z]+"|\[%(names)b\]),"iss":"([a-z]+)"\}'
    % {b"time": _TIME, b"names": _NAMES}
)
"""A payload as we write it: a match has only one interpretation."""
_REQUIRED = ("iss", "aud", "sub", "iat", "nbf", "exp", "jti", "typ", "sv")


@value
class SessionClaims:
    """Claims of a session token with a good signature and shape; times in seconds since the epoch.

    The caller checks ``in_force``.
    """

    user_id: int
    jti: str
    session_version: int
    issued_at: int
    not_before: int
    expires_at: int
    amr: tuple[str, ...]

    def in_force(self, at: float) -> bool:
        """True if the token is valid at this time, with a minute of clock skew for its start."""
        return self.has_begun(at) and at < self.expires_at

    @property
    def begins_at(self) -> int:
        """Start of the token's validity, by the clock that issued it."""
        return max(self.issued_at, self.not_before)

    def has_begun(self, at: float) -> bool:
        """False if the token's validity starts more than a minute (clock skew) in the future."""
        return self.begins_at <= at + CLOCK_SKEW_SECONDS


class SessionVerifier:
    """Verifies session tokens of one issuer for one audience."""

    def __init__(self, keys: KeyRing, *, issuer: str, audience: str) -> None:
        self._keys = keys
        self._issuer = issuer
        self._audience = audience

    def verify(self, token: str) -> SessionClaims | None:
        """Return the claims if signature, issuer, audience and shape are good, else None."""
        content = _signed_content(token, self._keys)
        if content is None:
            return None
        claims = self._plain_claims(content)
        if claims is not None:
            return claims
        payload = _payload_in(content, self._issuer, self._audience)
        return read_claims(payload) if payload is not None else None

    def _plain_claims(self, content: bytes) -> SessionClaims | None:
        """Return the claims of a payload as we write it, for this issuer and audience; None if it must be parsed."""
        plain = _PLAIN.fullmatch(content)
        if plain is None:
            return None
        expires_at, issued_at, jti, not_before, user_id, version, amr, audience, issuer = plain.groups()
        if issuer != self._issuer.encode() or f'"{self._audience}"'.encode() not in audience:
            return None
        methods = amr.decode()[1:-1].split('","')
        times = int(issued_at), int(not_before), int(expires_at)
        return SessionClaims(int(user_id), jti.decode(), int(version), *times, tuple(methods))


def verify_payload(token: str, keys: KeyRing, *, issuer: str, audience: str | None) -> Mapping[str, Any] | None:
    """Return the payload of a token signed with one of the keys, or None. Ignores times, and the audience if None."""
    content = _signed_content(token, keys)
    return None if content is None else _payload_in(content, issuer, audience)


def _payload_in(content: bytes, issuer: str, audience: str | None) -> Mapping[str, Any] | None:
    payload = _json_object(content)
    return payload if payload is not None and _has_required_claims(payload, issuer, audience) else None


def _signed_content(token: str, keys: KeyRing) -> bytes | None:
    """Return the bytes of the payload of a token signed with one of the keys, or None."""
    segments = token.split(".") if len(token) <= _MAX_TOKEN and token.isascii() else []
    if len(segments) != 3:
        return None
    kid, content = _key_name(segments[0]), base64url.decode(segments[1])
    key = keys.find(kid) if kid is not None else None
    if key is None or not content:
        return None
    signed = token[: -len(segments[2]) - 1].encode("ascii")
    signature = base64url.encode(hmac.digest(key.secret, signed, "sha256"))  # the only form that is accepted
    return content if hmac.compare_digest(signature, segments[2]) else None


def _has_required_claims(payload: Mapping[str, Any], issuer: str, audience: str | None) -> bool:
    """Return whether all required claims are present, and issuer and audience are these."""
    if None in [payload.get(name) for name in _REQUIRED] or payload["iss"] != issuer:
        return False
    if not (isinstance(payload["sub"], str) and isinstance(payload["jti"], str)):
        return False
    named = payload["aud"]
    if audience is None or named == audience:
        return True
    return isinstance(named, list) and audience in named and all(isinstance(each, str) for each in named)


def read_claims(payload: Mapping[str, Any]) -> SessionClaims | None:
    """Return the claims of a session payload, or None if one has the wrong type."""
    subject, jti, amr = payload.get("sub"), payload.get("jti"), payload.get("amr", [])
    if payload.get("typ") != SESSION_TYPE:
        return None
    if not (isinstance(subject, str) and subject.isascii() and subject.isdigit() and len(subject) <= 18):
        return None
    if not (isinstance(jti, str) and jti and isinstance(amr, list) and all(isinstance(item, str) for item in amr)):
        return None
    version, lifetime = payload.get("sv"), read_lifetime(payload)
    if not _is_int(version) or lifetime is None:
        return None
    return SessionClaims(int(subject), jti, version, *lifetime, tuple(amr))


def read_lifetime(payload: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Return ``iat``, ``nbf`` and ``exp`` of a token, or None if a time has the wrong type."""
    issued_at, not_before, expires_at = (payload.get(name) for name in ("iat", "nbf", "exp"))
    if not (_is_moment(issued_at) and _is_moment(not_before) and _is_moment(expires_at)):
        return None
    return issued_at, not_before, expires_at


def _is_int(value: object) -> TypeGuard[int]:
    """True for a JSON integer; Python's bool is an int, too."""
    return type(value) is int


def _is_moment(value: object) -> TypeGuard[int]:
    """True for whole seconds since the epoch within the calendar's range."""
    return _is_int(value) and 0 <= value < _END_OF_TIME


def _json_object(text: bytes) -> dict[str, Any] | None:
    """Parse a JSON object; None for other text, invalid UTF-8, or duplicate names, which parsers read differently."""
    try:
        found = STRICT_JSON.decode(text.decode())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate name")
    return found


STRICT_JSON = json.JSONDecoder(object_pairs_hook=_each_name_once)
"""Raises ValueError for an object with duplicate names. Shared: ``json.loads`` would build one per token."""


@lru_cache(64)  # tokens of one key share their header
def _key_name(segment: str) -> str | None:
    """Return the ``kid`` of a token's header segment, or None if it is not a header as we write it."""
    header = _json_object(base64url.decode(segment) or b"")
    if header is None or not _HEADER_FIELDS.issuperset(header) or header.get("alg") != ALGORITHM:
        return None
    kid = header.get("kid")
    return kid if isinstance(kid, str) else None
