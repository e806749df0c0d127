"""Sign-in method: OpenID Connect. Redirect to a provider, and handle its callback in the same browser.

A sign-in is a row that is used once within ten minutes. It is bound to the provider, and to the browser by a cookie
whose digest the row contains.
"""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.identity_providers import claimed_groups, linking, selectors, sessions
from accounts.identity_providers.linking import IdentityRefused, IdentityTaken
from accounts.models import User
from accounts.openid import code_flow, tokens
from accounts.openid.errors import ProviderFailed, TokenRefused
from accounts.openid.tokens import IdToken
from accounts.provider_models import ExternalIdentity, IdentityProvider, ProviderSignIn
from accounts.sign_in import challenges, login, methods
from accounts.sign_in.challenges import OVER, Challenged, InvalidChallenge
from accounts.sign_in.hand_off import digest
from accounts.sign_in.login import GUARD, Proven, SignedIn
from accounts.visitor import Visitor
from audit.event_kinds import EventKind
from audit.events.recording import Event, count_event
from gatewall.credentials.sealing import SealBroken
from gatewall.engine import auth_methods
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict, Forbidden, Refusal

FLOW = METHOD = "identity-provider"
LIFETIME = timedelta(minutes=10)


class ProviderUnavailable(Conflict):
    """The provider cannot be reached, or its response cannot be used."""

    code = "provider-unavailable"


class ProviderDenied(Forbidden):
    """The provider's response could not be verified, or the provider signed nobody in."""

    code = "provider-denied"


@dataclass(frozen=True, slots=True)
class Begun:
    """The redirect to the provider, and the secret that the visitor's browser keeps until the callback."""

    url: str = field(repr=False)
    browser_secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Returned:
    """The response of a provider that the browser brings back: query parameters, and the cookie."""

    state: str
    code: str
    error: str
    issuer: str | None
    browser_secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a sign-in at a provider ended: signed in, challenged for a second factor, or (None) an identity linked."""

    result: SignedIn | Challenged | None
    return_url: str


@contextmanager
def _failures_reported(provider: IdentityProvider, client_ip: str, at: datetime) -> Iterator[None]:
    """Record a failure of a provider as an event, and refuse with a message for the visitor.

    Raises ProviderUnavailable, ProviderDenied, IdentityRefused, IdentityTaken.
    """
    try:
        yield
    except ProviderFailed as failed:
        _count(EventKind.PROVIDER_FAILED, provider, client_ip, at, failed.why, failed.detail)
        words = _("%(provider)s does not answer as it should. Try again in a minute, or sign in another way.")
        raise ProviderUnavailable(words, provider=provider.name) from None
    except SealBroken:
        _count(
            EventKind.PROVIDER_FAILED,
            provider,
            client_ip,
            at,
            "sealed-secret",
            "GATEWALL_DATA_KEYS does not contain its key",
        )
        words = _("%(provider)s is not set up completely. Sign in another way.")
        raise ProviderUnavailable(words, provider=provider.name) from None
    except TokenRefused as refused:
        _count(EventKind.PROVIDER_REFUSED, provider, client_ip, at, refused.why, refused.detail)
        words = _("The answer of %(provider)s could not be verified, so you are not signed in. Try again.")
        raise ProviderDenied(words, provider=provider.name) from None
    except (IdentityRefused, IdentityTaken) as refusal:
        _count(EventKind.LOGIN_FAILED, provider, client_ip, at, refusal.code, str(refusal))
        raise


def begin(
    provider: IdentityProvider,
    *,
    redirect_uri: str,
    return_url: str,
    client_ip: str,
    at: datetime,
    user: User | None = None,
) -> Begun:
    """Begin a sign-in; with a user, one that links an identity to them. Raises ProviderUnavailable."""
    state, browser_secret = code_flow.new_state(), secrets.token_urlsafe(32)
    with _failures_reported(provider, client_ip, at):
        url = code_flow.authorization_url(selectors.settings_of(provider), state=state, redirect_uri=redirect_uri)
    ProviderSignIn.objects.create(
        state_digest=digest(state),
        browser_digest=digest(browser_secret),
        provider=provider,
        user=user,
        redirect_uri=redirect_uri,
        return_url=return_url,
        begun_at=at,
        expires_at=at + LIFETIME,
    )
    return Begun(url, browser_secret)


def finish(
    provider: IdentityProvider, returned: Returned, *, user: User | None, visitor: Visitor, at: datetime
) -> Outcome:
    """Handle the response of a provider; ``user`` is the user signed in in this browser, or None.

    Raises InvalidChallenge, ProviderUnavailable, ProviderDenied, IdentityRefused, IdentityTaken, InvalidCredentials.
    """
    row = _use_up(provider, returned, user=user, visitor=visitor, at=at)
    where = visitor.client_ip
    with _failures_reported(provider, where, at):
        token = _redeem(provider, row, returned, where, at)
        if row.user is not None:
            identity = linking.link(provider, row.user, token, client_ip=where, at=at)
            claimed_groups.update(identity, token, at=at)
            return Outcome(None, row.return_url)
        identity = linking.identity_of(provider, token, client_ip=where, at=at)
    return Outcome(_signed_in(identity, token, visitor, at), row.return_url)


def unlink(identity: ExternalIdentity, *, visitor: Visitor, at: datetime, session: UUID) -> None:
    """Remove a user's own link, and the sessions opened with it except this one. Raises LastWayIn, Gone."""
    linking.unlink(identity, ways_in=_other_ways_in, client_ip=visitor.client_ip, at=at, session=session)


def read_logout_token(provider: IdentityProvider, text: str, *, client_ip: str, at: datetime) -> tokens.LogoutToken:
    """Verify a logout token. Raises ProviderUnavailable, ProviderDenied."""
    with _failures_reported(provider, client_ip, at):
        return tokens.read_logout_token(selectors.settings_of(provider), text, at=at)


def _redeem(
    provider: IdentityProvider, row: ProviderSignIn, returned: Returned, client_ip: str, at: datetime
) -> IdToken:
    known = selectors.settings_of(provider)
    code_flow.check_issuer(known, returned.issuer)
    if returned.error:
        _count(EventKind.LOGIN_FAILED, provider, client_ip, at, "denied-there", "")
        raise ProviderDenied(_("%(provider)s did not sign you in, or you cancelled there."), provider=provider.name)
    redirect_uri, begun_at = row.redirect_uri, row.begun_at
    return code_flow.redeem(
        known, returned.code, state=returned.state, redirect_uri=redirect_uri, begun_at=begun_at, at=at
    )


def _signed_in(identity: ExternalIdentity, token: IdToken, visitor: Visitor, at: datetime) -> SignedIn | Challenged:
    user = claimed_groups.update(identity, token, at=at)
    proof = login.ask_for_second_factor(
        Proven(user, _amr(identity.provider, token.claims)), flow=GUARD, visitor=visitor, at=at
    )
    with transaction.atomic():
        if isinstance(proof, Challenged):
            sessions.record(identity, token, challenge=challenges.find(proof.token, GUARD.name, at=at).pk)
            return proof
        result = login.open_session(proof, flow=GUARD, visitor=visitor, at=at)
        sessions.record(identity, token, session=result.token.jti)
        return result


def _amr(provider: IdentityProvider, claims: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the methods that the sign-in proved: those that the provider claims count only with ``trust_amr``."""
    claimed = claims.get("amr") if provider.trust_amr else None
    believed = [each for each in auth_methods.AUTH_METHODS if isinstance(claimed, list) and each in claimed]
    return methods.union([auth_methods.FEDERATED], believed)


def _other_ways_in(user: User) -> int:
    return len([method for method in methods.first_methods_of(user) if method.name != METHOD])


def _use_up(
    provider: IdentityProvider, returned: Returned, *, user: User | None, visitor: Visitor, at: datetime
) -> ProviderSignIn:
    """Return the sign-in that a response belongs to; use it up, even if it fails later. Raises InvalidChallenge."""
    row = ProviderSignIn.objects.select_related("user").filter(pk=digest(returned.state), provider=provider).first()
    if row is None or row.expires_at <= at:
        raise _refusal(provider, visitor, at, "state-unknown")
    if not secrets.compare_digest(row.browser_digest, digest(returned.browser_secret)):
        raise _refusal(provider, visitor, at, "other-browser")
    if row.user is not None and row.user != user:
        raise _refusal(provider, visitor, at, "other-user")
    if not ProviderSignIn.objects.filter(pk=row.pk, spent_at__isnull=True).update(spent_at=at):
        raise _refusal(provider, visitor, at, "state-used")
    return row


def _refusal(provider: IdentityProvider, visitor: Visitor, at: datetime, why: str) -> Refusal:
    _count(EventKind.LOGIN_FAILED, provider, visitor.client_ip, at, why, "")
    return InvalidChallenge(OVER)


def _count(kind: EventKind, provider: IdentityProvider, client_ip: str, at: datetime, why: str, detail: str) -> None:
    fields = {"flow": FLOW, "provider": provider.slug, "why": why, **({"detail": detail} if detail else {})}
    count_event(Event(kind, at, client_ip, detail=fields), f"{provider.pk} {why}")
