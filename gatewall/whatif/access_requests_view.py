"""API views of access requests: list them, show one, give access, refuse."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.filters import Filters, ValueFilter, at_or_after, before, text
from gatewall.api.operations import operation
from gatewall.api.resources import Resource, with_publication
from gatewall.api.scopes import POLICY
from gatewall.whatif import access_requests
from gatewall.whatif.access_request_serializers import (
    AccessRequestOutput,
    AccessRequestWithData,
    GrantAccessInput,
    RefuseAccessInput,
)
from gatewall.whatif.offers import Lifetime
from gatewall.whatif.person_history import history_of, opened_by
from policies.filters import decision_id
from policies.models import WAITS, RequestForAccess, RequestState
from policies.validators import canonical_domain

_STATES = [state.value for state in RequestState]


def _state(value: str) -> str:
    if value not in _STATES:
        raise ValidationError(f"one of {', '.join(_STATES)}", "invalid-choice")
    return value


class AccessRequestFilters(Filters):
    """Filters of access requests."""

    user = text("user__username", max_length=64, lookup="iexact")
    domain = text("domain__name", max_length=255, parse=canonical_domain)
    decision_id = decision_id("decision_id")
    state = ValueFilter(method="of_state", parse=_state, openapi={"type": "string", "enum": _STATES})
    asked_at_after, asked_at_before = at_or_after("asked_at"), before("asked_at")

    def of_state(self, rows: QuerySet[RequestForAccess], _name: str, value: str) -> QuerySet[RequestForAccess]:
        """Return the requests in a state; a request that was pending for too long has expired."""
        is_over = Q(decided=RequestState.PENDING, asked_at__lte=timezone.now() - WAITS)
        return rows.filter(is_over) if value == RequestState.EXPIRED else rows.filter(decided=value).exclude(is_over)


class AccessRequests(Resource):
    """Access requests of refused users."""

    nouns = ("an access request", "access requests")
    area = POLICY
    input, output = GrantAccessInput, AccessRequestOutput
    filterset_class = AccessRequestFilters
    ordering_fields = ("id", "asked_at")
    search_fields = ("user__username", "domain__name", "reason")
    http_method_names = ["get", "head", "options", "post"]

    def get_queryset(self) -> QuerySet[RequestForAccess]:
        return RequestForAccess.objects.select_related("user", "domain")

    @operation(answer=AccessRequestWithData, refuses={404})
    def retrieve(self, request: Request, **path: Any) -> Response:
        """Show a request with the user's history and, while it is pending, the grants that can be given."""
        row, now = self.get_object(), timezone.now()
        record = access_requests.refusal_of(row.user, row.decision_id) if row.state == RequestState.PENDING else None
        history = history_of(row.user, now, besides=row)
        offers = access_requests.offers(record) if record else []
        offered = [(offer, opened_by(offer, row.user, now)) for offer in offers]
        shown = {
            **self.show(row),
            "offers": [
                {
                    "key": offer.key,
                    "domain": offer.domain,
                    "path_prefix": offer.path,
                    "refused_requests": opened.own,
                    "paths": opened.number_of_paths,
                }
                for offer, opened in offered
            ],
            "history": {
                "answers": history.read,
                "reasons": _named(history.reasons),
                "hosts": _named(history.hosts),
            },
        }
        return Response(shown)

    @operation(body=GrantAccessInput, answer=AccessRequestOutput, refuses={404, 409})
    def grant(self, request: Request, **path: Any) -> Response:
        """Give the requested access: the narrowest grant, or that of an offer, for an hour, 8 hours or 7 days."""
        body, row = self.body(GrantAccessInput), self.get_object()
        row = access_requests.grant(row, body.get("offer"), Lifetime(body["lifetime"]), actor=self.actor)
        return Response(with_publication(self.show(row)))

    @operation(body=RefuseAccessInput, answer=AccessRequestOutput, refuses={404, 409})
    def refuse(self, request: Request, **path: Any) -> Response:
        """Refuse an access request, with an answer that the user reads."""
        body = self.body(RefuseAccessInput)
        return Response(self.show(access_requests.refuse(self.get_object(), body.get("answer", ""), actor=self.actor)))


def _named(counts: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"name": name, "count": count} for name, count in counts]
