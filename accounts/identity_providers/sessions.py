"""Sessions opened through an identity provider: record their id at the provider, and end them."""

import hashlib
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from accounts.identity_providers.selectors import id_token_context
from accounts.models import Challenge, Session
from accounts.openid.tokens import IdToken, LogoutToken
from accounts.provider_models import ExternalIdentity, IdentityProvider, ProviderSession, UsedLogoutToken
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.credentials.sealing import MAX_PLAIN_BYTES, Sealer
from gatewall.kernel.refusals import Conflict
from gatewall.policy import revisions


class LogoutTokenUsed(Conflict):
    """The logout token was accepted before."""

    code = "logout-token-used"


def record(
    identity: ExternalIdentity, token: IdToken, *, session: UUID | None = None, challenge: UUID | None = None
) -> None:
    """Record that a session, or a challenge before it, was opened with this ID token.

    The token is kept sealed if it is short enough.
    """
    raw = token.text.encode()
    sealer = Sealer(settings.GATEWALL_DATA_KEYS)
    sealed = sealer.seal(raw, context=id_token_context(identity.pk)) if len(raw) <= MAX_PLAIN_BYTES else ""
    ProviderSession.objects.create(
        session_id=session, challenge_id=challenge, identity=identity, sid=token.sid, sealed_id_token=sealed
    )


def follow(challenge: UUID, session: UUID) -> None:
    """Record the session that followed a challenge, if the sign-in began at a provider."""
    ProviderSession.objects.filter(challenge_id=challenge).update(challenge_id=None, session_id=session)


def replace(ended: UUID, session: UUID) -> None:
    """Record that a session was replaced by another one, if it was opened through a provider."""
    ProviderSession.objects.filter(session_id=ended).update(session_id=session)


def of_session(jti: str) -> ProviderSession | None:
    """Return the record of the identity and provider through which a session was opened, or None."""
    return ProviderSession.objects.select_related("identity__provider").filter(session_id=jti).first()


@revisions.one_at_a_time
def end_by_token(provider: IdentityProvider, token: LogoutToken, *, at: datetime) -> int:
    """End the sessions that a logout token names; return how many. Raises LogoutTokenUsed."""
    digest = hashlib.sha256(token.jti.encode()).hexdigest()
    expires_at = datetime.fromtimestamp(token.expires_at + 2 * 60, tz=UTC)  # its expiry, and more than the leeway
    try:
        with transaction.atomic():
            UsedLogoutToken.objects.create(provider=provider, digest=digest, expires_at=expires_at)
    except IntegrityError:
        raise LogoutTokenUsed("the logout token was used already") from None
    found = ProviderSession.objects.filter(identity__provider=provider, identity__issuer=provider.issuer)
    if token.subject:
        found = found.filter(identity__subject=token.subject)
    if token.sid:
        found = found.filter(sid=token.sid)
    return _end(found, at, why="back-channel-logout", provider=provider)


def end_of_provider(provider: IdentityProvider, *, at: datetime) -> int:
    """End every session that was opened through a provider; return how many. The caller holds the policy lock."""
    found = ProviderSession.objects.filter(identity__provider=provider)
    return _end(found, at, why="provider-changed", provider=provider)


def end_of_identity(identity: ExternalIdentity, *, at: datetime, besides: Any = None) -> int:
    """End the sessions that were opened with an identity, except ``besides``; return how many."""
    found = ProviderSession.objects.filter(identity=identity)
    if besides is not None:
        found = found.exclude(session_id=besides)
    return _end(found, at, why="identity-unlinked", provider=identity.provider)


def _end(found: QuerySet[ProviderSession], at: datetime, *, why: str, provider: IdentityProvider) -> int:
    Challenge.objects.filter(pk__in=found.values("challenge_id")).update(spent_at=at)
    live = Session.objects.filter(revoked_at__isnull=True, expires_at__gt=at, pk__in=found.values("session_id"))
    ended = live.update(revoked_at=at)
    if ended:
        revisions.advance_revocations()
        detail = {"sessions": ended, "why": why, "provider": provider.slug}
        record_event(Event(EventKind.SESSION_REVOKED, at, detail=detail))
    return ended
