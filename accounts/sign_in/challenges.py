"""Challenge tokens between the first method and the second factor. They grant no access.

A token of its own type (RFC 8725 section 3.12) names a database row. The row ends with the first success or after
five wrong codes, across processes and hosts.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from accounts import tokens
from accounts.models import Challenge, User
from gatewall.credentials.sessions import ISSUER, verify_payload
from gatewall.engine import auth_methods
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Gone, Refusal

LIFETIME = timedelta(minutes=5)
MAX_TRIES = 5
TYPE = "challenge"
OVER = _("this sign-in is over: begin again")


class InvalidChallenge(Refusal):
    """The challenge is over, invalid, or of another flow: sign in from the beginning."""

    code = "invalid-challenge"


@dataclass(frozen=True, slots=True)
class Challenged:
    """Challenge for a second factor, after a first method; ``user`` can answer it."""

    token: str = field(repr=False)
    expires_at: datetime
    user: User


def begin(user: User, flow: str, *, amr: Sequence[str], at: datetime) -> Challenged:
    """Create a challenge for the user in this flow, who has proved ``amr`` so far. Raises Gone."""
    jti, expires_at = uuid.uuid4(), at.replace(microsecond=0) + LIFETIME
    row = Challenge(
        jti=jti, user=user, flow=flow, amr=list(amr), session_version=user.session_version, expires_at=expires_at
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise Gone(_("the user was deleted in the meantime")) from None
    begun = int(at.timestamp())
    claims: dict[str, Any] = {
        "aud": flow,
        "sub": str(user.pk),
        "iat": begun,
        "nbf": begun,
        "exp": int(expires_at.timestamp()),
        "jti": str(jti),
        "typ": TYPE,
        "sv": user.session_version,
    }
    return Challenged(tokens.KeyRingBackend().encode(claims), expires_at, user)


def find(token: str, flow: str, *, at: datetime) -> Challenge:
    """Return the live challenge that the token names, with its user. Raises InvalidChallenge."""
    payload = verify_payload(token, settings.GATEWALL_JWT_KEYS, issuer=ISSUER, audience=flow)
    jti = _id(payload) if payload is not None else None
    row = _open(jti, at).select_related("user").filter(flow=flow).first() if jti else None
    if row is None or not row.user.is_active or row.user.session_version != row.session_version:
        raise InvalidChallenge(OVER)
    return row


def proved(challenge: Challenge) -> Sequence[str]:
    """Return the methods proved before the challenge (``amr``)."""
    return challenge.amr if challenge.amr is not None else (auth_methods.PASSWORD,)


def use_try(challenge: Challenge, *, at: datetime) -> None:
    """Use up one of the five tries, before the code is checked. Raises InvalidChallenge if no try is left."""
    if not _open(challenge.pk, at).update(tries=F("tries") + 1):
        raise InvalidChallenge(OVER)


def spend(challenge: Challenge, *, at: datetime) -> None:
    """End the challenge after a success. Raises InvalidChallenge if it was already ended by another call."""
    if not Challenge.objects.filter(pk=challenge.pk, spent_at__isnull=True).update(spent_at=at):
        raise InvalidChallenge(OVER)


def end_all(user: User, *, at: datetime) -> None:
    """End every open challenge of a user."""
    Challenge.objects.filter(user=user, spent_at__isnull=True).update(spent_at=at)


def _open(jti: uuid.UUID, at: datetime) -> QuerySet[Challenge]:
    return Challenge.objects.filter(pk=jti, spent_at__isnull=True, expires_at__gt=at, tries__lt=MAX_TRIES)


def _id(payload: Mapping[str, Any]) -> uuid.UUID | None:
    if payload.get("typ") != TYPE:
        return None
    try:
        return uuid.UUID(payload["jti"])
    except (ValueError, TypeError, AttributeError):
        return None
