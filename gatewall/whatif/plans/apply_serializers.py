"""Serializers for putting a policy in force: a plan, a document, the shadow policy."""

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.caller import caller_of
from gatewall.api.etags import Stale
from gatewall.api.resources import with_publication
from gatewall.api.serializers import FlagField, ShapedField, StrictInput, WholeNumberField
from gatewall.whatif.document_field import DocumentField
from gatewall.whatif.plans.applying import (
    MAX_CONFIRM_SECONDS,
    MAX_WATCH_MINUTES,
    MAX_WATCHED_PEOPLE,
    Applied,
    Conditions,
    PolicyMovedOn,
)
from gatewall.whatif.plans.serializers import CHANGES, COUNTS, EXPECTATIONS

_DIGEST = r"^[0-9a-f]{64}$"
MAX_REVISION = 2**62
_LEAST_SECONDS = 5


class UndoIfRefused(StrictInput):
    """Revert the change if it refuses more than ``people`` people within ``minutes`` minutes."""

    people = WholeNumberField(min_value=0, max_value=MAX_WATCHED_PEOPLE)
    minutes = WholeNumberField(min_value=1, max_value=MAX_WATCH_MINUTES)


class ConditionsInput(StrictInput):
    """The conditions under which a change stays in force."""

    confirm_within_seconds = WholeNumberField(min_value=0, max_value=MAX_CONFIRM_SECONDS, required=False)
    undo_if_refused = UndoIfRefused(required=False, allow_null=True)
    force = FlagField(required=False)

    def validate_confirm_within_seconds(self, value: int) -> int:
        if 0 < value < _LEAST_SECONDS:
            raise serializers.ValidationError(_("0, or at least %(number)s seconds") % {"number": _LEAST_SECONDS})
        return value


class ApplyInput(ConditionsInput):
    """A plan to apply, by its digest, or a document and the revision that it was made for."""

    digest = serializers.RegexField(_DIGEST, required=False)
    document = DocumentField(required=False)
    if_revision = WholeNumberField(min_value=0, max_value=MAX_REVISION, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("digest" in attrs) == ("document" in attrs):
            raise serializers.ValidationError({"digest": _("exactly one of digest and document is needed")})
        if ("document" in attrs) != ("if_revision" in attrs):
            raise serializers.ValidationError({"if_revision": _("needed with a document, and only then")})
        return attrs


class ApplyOutput(serializers.Serializer[Any]):
    """The revision of the change, null if there was nothing to change, and its effects.

    ``confirm_by``: the change is reverted at this time, unless it is confirmed.
    """

    revision = serializers.IntegerField(allow_null=True)
    changes = ShapedField(CHANGES, allow_null=True)
    counts = ShapedField(COUNTS)
    expectations = ShapedField(EXPECTATIONS)
    confirm_by = serializers.DateTimeField(required=False)
    policy_pending = serializers.BooleanField(required=False)


def conditions_of(values: Mapping[str, Any]) -> Conditions:
    """Return the conditions of a valid body."""
    undo = values.get("undo_if_refused") or {}
    return Conditions(
        confirm_within_seconds=values.get("confirm_within_seconds", 0),
        undo_over_people=undo.get("people"),
        undo_minutes=undo.get("minutes", 0),
        force=values.get("force", False),
    )


def applied_response(request: Request, apply: Callable[..., Applied]) -> Response:
    """Call ``apply(actor=, caller=)`` for this request and return its result as a response. Raises Stale."""
    try:
        applied = apply(actor=str(request.user), caller=caller_of(request))
    except PolicyMovedOn:
        raise Stale(_("the policy was changed since: make a new plan")) from None
    revision = applied.revision
    shown = {
        "revision": revision.number if revision else None,
        "changes": revision.changes if revision else [],
        "counts": (revision.counts or []) if revision else [],
        "expectations": [each.as_json() for each in applied.expectations],
    }
    return Response(with_publication(shown))
