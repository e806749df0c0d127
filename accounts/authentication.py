"""Authenticate API callers: a session token in a header or cookie, or the Django admin's session."""

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request
from rest_framework_simplejwt.authentication import JWTAuthentication
from rest_framework_simplejwt.exceptions import InvalidToken, TokenError

from accounts import admin_session, selectors
from accounts.models import User
from accounts.tokens import API, SessionToken
from gatewall.api.caller import django_request
from gatewall.api.cross_site import refuse_cross_site
from gatewall.credentials.sessions import read_claims

COOKIE_NAME = "service.token"
_MAX_COOKIES = 4
_HEADER = "Service-Authorization"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class SessionTokenAuthentication(JWTAuthentication):
    """Authenticate by session token from header or cookie (simplejwt), with a revocation check on every request."""

    def authenticate(self, request: Request) -> tuple[User, SessionToken] | None:  # type: ignore[override]  # our user and token
        """Return the caller and the token, or None if none was sent.

        An invalid header raises InvalidToken; invalid cookies are ignored. Raises CrossSite for a cross-site write by
        cookie.
        """
        if header := request.headers.get(_HEADER, "").strip():
            scheme, _, rest = header.partition(" ")
            caller = token_holder(rest.strip() if scheme.lower() == "bearer" and rest else header)
            if caller is None:
                raise InvalidToken("the session token is not valid")
            return caller
        holder = self.holder_by_cookies(request)
        if holder is not None and request.method not in _SAFE:
            refuse_cross_site(request)
        return holder

    def holder_by_cookies(self, request: Request) -> tuple[User, SessionToken] | None:
        """Return user and token from the cookies, preferring a session for the API to one of the guard page."""
        found = holders(request)
        return next((holder for holder in found if API in holder[1].audiences), found[0] if found else None)

    def authenticate_header(self, request: Request) -> str:
        return 'Gatewall realm="Gatewall"'


class ApiAuthentication(SessionTokenAuthentication):
    """Prefer the Django admin's session to the cookie of a guard page, which does not grant the API."""

    def holder_by_cookies(self, request: Request) -> tuple[User, SessionToken] | None:
        holder = super().holder_by_cookies(request)
        if holder is None or API in holder[1].audiences:
            return holder
        return None if django_request(request).user.is_authenticated else holder


def holders(request: HttpRequest | Request) -> list[tuple[User, SessionToken]]:
    """Return the live sessions of all session cookies, at most four.

    A browser may send several cookies of this name, for our host and its parent domains (RFC 6265 section 5.4);
    Django's parser keeps only the last. The gate reads them in the same way.
    """
    parts = request.META.get("HTTP_COOKIE", "").replace("\n", ";").split(";")
    pairs = (part.partition("=") for part in parts)
    values = [text for name, _, value in pairs if name.strip(" \t") == COOKIE_NAME and (text := value.strip(' \t"'))]
    return [holder for value in values[:_MAX_COOKIES] if (holder := token_holder(value)) is not None]


def amr_of(request: HttpRequest | Request) -> tuple[str, ...]:
    """Return the authentication methods of the caller's session (RFC 8176), from its token or the admin session."""
    token = getattr(request, "auth", None)
    if isinstance(token, SessionToken):
        return tuple(token["amr"])
    plain = django_request(request) if isinstance(request, Request) else request
    row = admin_session.row_of(plain, signed_in_user(request))
    return tuple(row.amr) if row else ()


def signed_in_user(request: HttpRequest | Request) -> User:
    """Return the signed-in user. Raises NotAuthenticated."""
    user = request.user
    if not isinstance(user, User):
        raise NotAuthenticated
    return user


def session_token(request: Request) -> SessionToken:
    """Return the session token of the call. Raises NotAuthenticated for a session of the Django admin."""
    if not isinstance(request.auth, SessionToken):
        raise NotAuthenticated
    return request.auth


def token_holder(raw: str) -> tuple[User, SessionToken] | None:
    """Return user and token of a valid session token, or None if it is invalid, expired or revoked."""
    now = timezone.now()
    try:
        token = SessionToken(raw)  # type: ignore[arg-type]  # the stubs allow only a token, simplejwt also its text
    except (TokenError, OverflowError, ValueError):  # the latter two: an expiry outside the calendar
        return None
    claims = read_claims(token.payload)
    if claims is None or not claims.in_force(now.timestamp()):
        return None
    session = selectors.live_session(claims.jti, now)
    if session is None or session.user_id != claims.user_id or session.session_version != claims.session_version:
        return None
    return session.user, token


class AdminSessionAuthentication(SessionAuthentication):
    """Authenticate the browsable API by the Django admin's session, with its CSRF token and second factor."""

    def authenticate(self, request: Any) -> Any:
        """Return the caller, or None. Raises CrossSite for a cross-site write."""
        found = super().authenticate(request)
        if found is None or not admin_session.has_required_factors(django_request(request), found[0]):
            return None
        if request.method not in _SAFE:
            refuse_cross_site(request)
        return found

    def enforce_csrf(self, request: Any) -> None:
        # Pass Django's request: DRF's would parse the body here, and a body that is not JSON would become a 401.
        super().enforce_csrf(getattr(request, "_request", request))

    def authenticate_header(self, request: Any) -> str:
        return 'Gatewall realm="Gatewall"'
