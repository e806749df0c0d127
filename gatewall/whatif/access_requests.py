"""Access requests: a refused user asks for access, and an admin gives the narrowest grant or refuses.

A request refers to the decision that refused the user. The grants that can be given are derived from this decision each
time, by the code that derives the exemptions for a refusal.
"""

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from audit.log import selectors
from audit.spool.records import AccessRecord
from audit.spool.rows import record_of_row
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.model import SubjectKind
from gatewall.kernel.refusals import Conflict, TooMany
from gatewall.policy import revisions
from gatewall.whatif import exemptions
from gatewall.whatif.grant_offers import give
from gatewall.whatif.offers import Kind, Lifetime, NotOffered, Offer
from gatewall.whatif.replay_record import decide_again
from policies.models import AuthorizedDomain, RequestForAccess, RequestState, pending

LIFETIMES = (Lifetime.HOUR, Lifetime.EIGHT_HOURS, Lifetime.WEEK)
MAX_PENDING = 5
"""Maximum number of pending requests of one user."""
MAX_AN_HOUR = 10


class TooManyRequests(TooMany):
    """The user asks too often, or has too many pending requests."""

    code = "too-many-access-requests"


class AlreadyDecided(Conflict):
    """The request is no longer pending."""

    code = "already-decided"


def refusal_of(user: Any, decision_id: uuid.UUID) -> AccessRecord | None:
    """Return the record of a decision about this user's session, None if there is none in the log."""
    row = selectors.answer(decision_id)
    if row is None or row.subject_kind != SubjectKind.USER or row.subject_id != user.pk:
        return None
    return record_of_row(row)


def offers(record: AccessRecord) -> list[Offer]:
    """Return the grants that would let the recorded request in, narrowest first; empty if none would or is needed."""
    return [each for each in exemptions.offers(record, decide_again(record)) if each.kind is Kind.GRANT]


def request_about(user: Any, decision_id: uuid.UUID) -> RequestForAccess | None:
    """Return the newest request of the user about this decision, None if they did not ask."""
    return RequestForAccess.objects.filter(user=user, decision_id=decision_id).select_related("domain", "grant").first()


@transaction.atomic
def ask(user: Any, record: AccessRecord, reason: str, *, client_ip: str | None) -> RequestForAccess:
    """Ask for access, and return the request; asking again while a request for the domain is pending changes nothing.

    Raises NotOffered, TooManyRequests.
    """
    possible, now = offers(record), timezone.now()
    get_user_model()._default_manager.select_for_update().get(pk=user.pk)  # noqa: SLF001 - public by its documentation
    domain = AuthorizedDomain.objects.filter(name=possible[0].domain).first() if possible else None
    if domain is None:
        raise NotOffered(_("access cannot be granted: this refusal overrides every grant"))
    waiting = pending().filter(user=user)
    found: RequestForAccess | None = waiting.filter(domain=domain).first()
    if found is not None:
        return found
    _refuse_too_many(user, waiting.count(), now)
    made = RequestForAccess.objects.create(
        user=user,
        domain=domain,
        decision_id=record.decision_id,
        host=record.host or "",
        path=record.path[:500],
        reason=reason[:500],
        asked_at=now,
    )
    _record(EventKind.ACCESS_REQUESTED, made, client_ip=client_ip)
    return made


@revisions.one_at_a_time
def grant(request: RequestForAccess, key: str | None, lifetime: Lifetime, *, actor: str) -> RequestForAccess:
    """Give the requested access: the offer with this key, or without a key the narrowest, for this lifetime.

    Raises AlreadyDecided, NotOffered and the errors of ``create_grant``.
    """
    request, now = _still_pending(request), timezone.now()
    record = refusal_of(request.user, request.decision_id)
    until = lifetime.end(now) if lifetime in LIFETIMES else None
    possible = offers(record) if record else []
    offer = next((each for each in possible if key in {None, each.key}), None)
    if record is None or offer is None or until is None:
        raise NotOffered(_("the reason for this refusal has changed: open the request again"))
    request.grant = give(offer, record, until, actor=actor, reason=request.reason)
    _decide(request, RequestState.GRANTED, actor, now)
    _record(EventKind.ACCESS_GRANTED, request, actor=actor, grant=request.grant.pk)
    return request


@revisions.one_at_a_time
def refuse(request: RequestForAccess, answer: str, *, actor: str) -> RequestForAccess:
    """Refuse an access request, with an answer for the user. Raises AlreadyDecided."""
    request = _still_pending(request)
    request.answer = answer[:500]
    _decide(request, RequestState.REFUSED, actor, timezone.now())
    _record(EventKind.ACCESS_REFUSED, request, actor=actor)
    return request


@revisions.one_at_a_time
def withdraw(request: RequestForAccess) -> RequestForAccess:
    """Withdraw an access request. Raises AlreadyDecided."""
    request = _still_pending(request)
    _decide(request, RequestState.WITHDRAWN, request.user.username, timezone.now())
    return request


def _still_pending(request: RequestForAccess) -> RequestForAccess:
    """Re-read the request under the lock. Raises AlreadyDecided."""
    found: RequestForAccess | None = pending().filter(pk=request.pk).first()
    if found is None:
        raise AlreadyDecided(_("this request was decided already, or has expired"))
    return found


def _decide(request: RequestForAccess, state: RequestState, actor: str, at: datetime) -> None:
    request.decided, request.decided_by, request.decided_at = state, actor, at
    request.save()


def _refuse_too_many(user: Any, waiting: int, now: datetime) -> None:
    hour = timedelta(hours=1)
    asked = list(user.access_requests.filter(asked_at__gt=now - hour).order_by("asked_at")[:MAX_AN_HOUR])
    if len(asked) >= MAX_AN_HOUR:
        seconds = int((asked[0].asked_at + hour - now).total_seconds()) + 1
        raise TooManyRequests(_("you asked too often; wait before you ask again"), retry_after_seconds=seconds)
    if waiting >= MAX_PENDING:
        words = _("%(number)s of your requests are pending; withdraw one, or wait for an answer")
        raise TooManyRequests(words, retry_after_seconds=int(hour.total_seconds()), number=waiting)


def _record(kind: EventKind, request: RequestForAccess, *, client_ip: str | None = None, **detail: Any) -> None:
    """Record a security event, without the reason: users may type anything there."""
    record_event(
        Event(
            kind,
            client_ip=client_ip,
            user=request.user,
            detail={"request": request.pk, "domain": request.domain.name, "host": request.host, **detail},
            decision_id=request.decision_id,
        )
    )
