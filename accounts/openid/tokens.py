"""Verify ID tokens and logout tokens, and return their claims."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeGuard

from accounts.openid.documents import documents
from accounts.openid.errors import TokenRefused
from accounts.openid.settings import ProviderSettings

LEEWAY_SECONDS = 60
"""Accepted difference between the clock of a provider and ours."""
_LONGEST_LIFE = 24 * 3600
_LONGEST_LOGOUT_LIFE = 600
_LOGOUT = "http://schemas.openid.net/event/backchannel-logout"
_END_OF_TIME = 253_402_300_800
_PLAIN = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True, slots=True)
class IdToken:
    """A verified ID token: its subject, the session at the provider, all claims, and its text."""

    subject: str
    sid: str
    claims: Mapping[str, Any]
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class LogoutToken:
    """A verified logout token: a user or session that was signed out. One of ``subject`` and ``sid`` may be empty."""

    jti: str
    subject: str
    sid: str
    expires_at: int


def read_id_token(provider: ProviderSettings, text: str, *, nonce: str, begun_at: datetime, at: datetime) -> IdToken:
    """Verify an ID token (OpenID Connect Core 1.0 section 3.1.3.7) that answers a sign-in begun at ``begun_at``.

    Raises TokenRefused, ProviderFailed.
    """
    header, claims = _signed(provider, text)
    _refuse_type(header, "jwt")
    _check_parties(provider, claims)
    _check_times(claims, at)
    if claims["iat"] < begun_at.timestamp() - LEEWAY_SECONDS:
        raise TokenRefused("issued-too-early", "the token is older than this sign-in, or a clock is wrong")
    if claims.get("nonce") != nonce:
        raise TokenRefused("nonce", "the token answers another sign-in")
    return IdToken(_subject(claims), _sid(claims), claims, text)


def read_logout_token(provider: ProviderSettings, text: str, *, at: datetime) -> LogoutToken:
    """Verify a logout token (OpenID Connect Back-Channel Logout 1.0 section 2.6). The caller refuses a used ``jti``.

    Raises TokenRefused, ProviderFailed.
    """
    header, claims = _signed(provider, text)
    _refuse_type(header, "logout+jwt", "jwt")
    _check_parties(provider, claims)
    _check_times(claims, at)
    if claims["exp"] - claims["iat"] > _LONGEST_LOGOUT_LIFE or at.timestamp() - claims["iat"] > _LONGEST_LOGOUT_LIFE:
        raise TokenRefused("expired", "a logout token lives ten minutes at most")
    events = claims.get("events")
    if not isinstance(events, dict) or not isinstance(events.get(_LOGOUT), dict):
        raise TokenRefused("no-logout", "the token has no logout event")
    if "nonce" in claims:
        raise TokenRefused("no-logout", "a logout token has no nonce")
    jti, subject, sid = claims.get("jti"), "", _sid(claims)
    if "sub" in claims:
        subject = _subject(claims)
    if not is_plain(jti) or not (subject or sid):
        raise TokenRefused("malformed", "the token has no jti, or neither sub nor sid")
    return LogoutToken(jti, subject, sid, claims["exp"])


def is_plain(value: object) -> TypeGuard[str]:
    """Return whether this is a text of 1 to 255 printable ASCII characters without a space."""
    return isinstance(value, str) and _PLAIN.fullmatch(value) is not None


def _signed(provider: ProviderSettings, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    from accounts.openid import signatures  # noqa: PLC0415 - saves a MiB where no provider is used

    header = signatures.header_of(text)
    keys = documents.keys(provider, kid=header.get("kid"))
    return header, signatures.verified(text, header, keys)


def _refuse_type(header: Mapping[str, Any], *accepted: str) -> None:
    """Raise TokenRefused for a token of another explicit type (RFC 8725 section 3.11)."""
    kind = header.get("typ", "jwt")
    if not isinstance(kind, str) or kind.lower().removeprefix("application/") not in accepted:
        raise TokenRefused("type", "this is a token of another kind")


def _check_parties(provider: ProviderSettings, claims: Mapping[str, Any]) -> None:
    if claims.get("iss") != provider.issuer:
        raise TokenRefused("issuer", "the token is of another issuer")
    audience, authorized = claims.get("aud"), claims.get("azp")
    names = audience if isinstance(audience, list) else [audience]
    if provider.client_id not in names:
        raise TokenRefused("audience", "the token is for another client")
    if authorized != provider.client_id and (authorized is not None or len(names) > 1):
        raise TokenRefused("audience", "the token was issued to another client")


def _check_times(claims: Mapping[str, Any], at: datetime) -> None:
    now, issued, ends, begins = at.timestamp(), claims.get("iat"), claims.get("exp"), claims.get("nbf", 0)
    if not (_is_moment(issued) and _is_moment(ends) and _is_moment(begins)):
        raise TokenRefused("malformed", "the token has no times")
    if now >= ends + LEEWAY_SECONDS:
        raise TokenRefused("expired", "the token has expired, or a clock is wrong")
    if max(issued, begins) > now + LEEWAY_SECONDS:
        raise TokenRefused("not-yet-valid", "the token is from the future, or a clock is wrong")
    if ends - issued > _LONGEST_LIFE:
        raise TokenRefused("expired", "the token lives longer than a day")


def _is_moment(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _END_OF_TIME


def _subject(claims: Mapping[str, Any]) -> str:
    subject = claims.get("sub")
    if not is_plain(subject):
        raise TokenRefused("malformed", "the token has no subject")
    return subject


def _sid(claims: Mapping[str, Any]) -> str:
    sid = claims.get("sid", "")
    if sid != "" and not is_plain(sid):
        raise TokenRefused("malformed", "the session of the token is malformed")
    return str(sid)
