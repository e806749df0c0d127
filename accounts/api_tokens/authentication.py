"""Authenticate API callers by API token: ``Authorization: Bearer gwa_...``."""

from datetime import datetime
from hmac import compare_digest

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from accounts import browser
from accounts.api_tokens import services
from accounts.models import ApiToken, User
from accounts.sign_in import events as sign_in_events
from accounts.sign_in.throttling import TooManyAttempts
from gatewall.api.scopes import ScopedAccess
from gatewall.credentials.machine import API_TOKEN_PREFIX, digest_of, is_well_formed
from gatewall.engine.addresses import parse_address, parse_network

_FLOW = "api-token"
_ACCOUNT = "api token"
"""Account under which wrong tokens are counted; no user can have this name."""
_REFUSED = (
    "the API token is not valid: it is wrong, expired or revoked, its maker is no longer an admin, or it may not be "
    "used from this address"
)


class TooManyWrongTokens(Throttled):
    """Too many failed attempts from this network."""

    problem_code = TooManyAttempts.code


class ApiTokenAuthentication(BaseAuthentication):
    """Authenticate by API token. Other bearer tokens are ignored, because they are not ours."""

    def authenticate(self, request: Request) -> tuple[User, ScopedAccess] | None:
        """Return the maker of the token and its scopes, or None if no API token was sent.

        A wrong token counts as a failed sign-in of the client's network. Raises AuthenticationFailed,
        TooManyWrongTokens.
        """
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        text = text.strip()
        if scheme.lower() != "bearer" or not text.startswith(API_TOKEN_PREFIX):
            return None
        at = timezone.now()
        row = usable_token(text, client_ip=browser.visitor(request).client_ip, at=at)
        if row is None:
            _count_failure(request, at)
            raise AuthenticationFailed(_REFUSED)
        services.record_use(row, at)
        return row.user, ScopedAccess(row.pk, frozenset(row.scopes))

    def authenticate_header(self, request: Request) -> str:
        return 'Gatewall realm="Gatewall"'


def usable_token(text: str, *, client_ip: str, at: datetime) -> ApiToken | None:
    """Return the row of an API token with its maker, or None if the token may not be used from this address now."""
    if not is_well_formed(text, API_TOKEN_PREFIX):
        return None
    digest = digest_of(text)
    row = ApiToken.objects.select_related("user").filter(digest=digest).first()
    if row is None or not compare_digest(row.digest, digest):
        return None
    return row if row.expires_at > at and row.user.is_staff and _is_within(client_ip, row.networks) else None


def _is_within(client_ip: str, networks: list[str]) -> bool:
    """Return whether the address is in one of the networks, or there are none."""
    address = parse_address(client_ip)
    return not networks or (address is not None and any(address in parse_network(text) for text in networks))


def _count_failure(request: Request, at: datetime) -> None:
    """Count a wrong token. A valid token is never throttled: its 256 random bits cannot be guessed."""
    visitor = browser.visitor(request)
    try:
        sign_in_events.attempt(_ACCOUNT, visitor, at, flow=_FLOW)
    except TooManyAttempts as refusal:
        raise TooManyWrongTokens(wait=refusal.retry_after_seconds - 1, detail=str(refusal)) from None
    sign_in_events.failed(_ACCOUNT, visitor.client_ip, at, flow=_FLOW, why="wrong-token")
