"""Who calls the API: a session token in a header or cookie, or the Django admin's own session."""

from typing import Any

from django.utils import timezone
from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request
from rest_framework_simplejwt.authentication import JWTAuthentication
from rest_framework_simplejwt.exceptions import InvalidToken, TokenError

from accounts import selectors
from accounts.models import User
from accounts.tokens import SessionToken
from gatewall.api.cross_site import refuse_cross_site
from gatewall.credentials.sessions import read_claims

COOKIE_NAME = "service.token"
_HEADER = "Service-Authorization"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class SessionTokenAuthentication(JWTAuthentication):
    """simplejwt's authentication over our header and cookie, with revocation looked up every time."""

    def authenticate(self, request: Request) -> tuple[User, SessionToken] | None:  # type: ignore[override]
        """Return the caller and the token, or None if none was sent.

        The header comes before the cookie. Raises InvalidToken if none of those sent is good, and
        CrossSite for a write that another site made the browser send.
        """
        header = request.headers.get(_HEADER, "").strip()
        cookie = request.COOKIES.get(COOKIE_NAME, "")
        if header:
            scheme, _, rest = header.partition(" ")
            return self._caller(rest.strip() if scheme.lower() == "bearer" and rest else header)
        if cookie:
            if request.method not in _SAFE:
                refuse_cross_site(request)
            return self._caller(cookie)
        return None

    def authenticate_header(self, request: Request) -> str:
        return 'Gatewall realm="Gatewall"'

    def _caller(self, raw: str) -> tuple[User, SessionToken]:
        holder = holder_of(raw)
        if holder is None:
            raise InvalidToken("the session token is not valid")
        return holder


def holder_of(raw: str) -> tuple[User, SessionToken] | None:
    """Return who holds this session token and what it says, or None if it opens nothing (any more)."""
    now = timezone.now()
    try:
        token = SessionToken(raw)  # type: ignore[arg-type]
    except (TokenError, OverflowError, ValueError):  # the latter two: an end that no calendar has
        return None
    claims = read_claims(token.payload)
    if claims is None or not claims.in_force(now.timestamp()):
        return None
    session = selectors.live_session(claims.jti, now)
    if session is None or session.user_id != claims.user_id or session.session_version != claims.session_version:
        return None
    return session.user, token


class AdminSessionAuthentication(SessionAuthentication):
    """The browsable API under the Django admin's session, with its CSRF token."""

    def authenticate_header(self, request: Any) -> str:
        return 'Gatewall realm="Gatewall"'
