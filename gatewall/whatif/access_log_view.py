"""API view of one access log entry: its decision, and optionally a replay under today's policy."""

import uuid
from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from audit.log import selectors
from audit.serializers import AccessLogOutput
from audit.spool.rows import record_of_row
from gatewall.api import etags
from gatewall.api.operations import operation
from gatewall.api.queries import choice_in, refuse_unknown_parameters, refused_parameter, whole_number_in
from gatewall.api.scopes import LOGS
from gatewall.api.serializers import ShapedField
from gatewall.api.views import ApiView
from gatewall.kernel.refusals import Gone
from gatewall.replay.missing import Missing
from gatewall.replay.redecision import Assumed
from gatewall.whatif.access_trace import ACCESS_NEEDED
from gatewall.whatif.as_of import policy_as_of, revision_of
from gatewall.whatif.explain_view import StepOutput
from gatewall.whatif.replay_record import decide_again, trace
from gatewall.whatif.shapes import NUMBER, PLACED_RULES, SCOPE_SOURCES, TEXT, UNKNOWN_LISTS, object_of

_MAX_REVISION = 10**18 - 1
_ROW_PARTS = {"kind": TEXT, "id": NUMBER, "path": TEXT}
_ROW = {"type": ["object", "null"], "properties": _ROW_PARTS, "required": ["kind", "id"]}
_DECISION = object_of({"status": NUMBER, "outcome": TEXT, "reason": TEXT, "decided_by": _ROW})
_DECISION["type"] = ["object", "null"]
_MISSING = {"type": ["string", "null"], "enum": [*Missing, None]}
_ASSUMED = {"type": "array", "items": {"type": "string", "enum": [*Assumed]}}


class RecordedStep(StepOutput):
    """A step of the decision: its outcome, ``not matched``, or null if it was not reached."""

    decided_by = ShapedField(_ROW, allow_null=True)
    rules = ShapedField(PLACED_RULES)


class StepAgain(RecordedStep):
    """A step of the replay; ``undecidable`` is the fact that is missing from the log."""

    undecidable = ShapedField(_MISSING, allow_null=True)


class DecidedAgain(serializers.Serializer[Any]):
    """The decision today, or null and the fact that is missing from the log."""

    decision = ShapedField(_DECISION, allow_null=True)
    same = serializers.BooleanField(allow_null=True)
    undecidable = ShapedField(_MISSING, allow_null=True)
    assumed = ShapedField(_ASSUMED)
    trace = StepAgain(many=True)
    scope = ShapedField(SCOPE_SOURCES, allow_null=True)
    access = ShapedField(ACCESS_NEEDED, allow_null=True)
    policy_revision = serializers.IntegerField()
    at = serializers.CharField(allow_null=True)
    unknown = ShapedField(UNKNOWN_LISTS)


class AccessLogEntryOutput(AccessLogOutput):
    """An access log entry with the steps of its decision; ``again`` is null without ``again=true``."""

    trace = RecordedStep(many=True, read_only=True)
    again = DecidedAgain(allow_null=True, read_only=True)

    class Meta(AccessLogOutput.Meta):
        fields = (*AccessLogOutput.Meta.fields, "trace", "again")


class AccessLogEntry(ApiView):
    """One access log entry, and how it was decided."""

    area = LOGS

    @operation(
        answer=AccessLogEntryOutput,
        refuses={404, 409},
        is_tagged=True,
        parameters={
            "again": {"type": "boolean", "default": False},
            "revision": {"type": "integer", "minimum": 1, "maximum": _MAX_REVISION},
        },
    )
    def get(self, request: Request, decision_id: uuid.UUID) -> Response:
        """Return an access log entry with its trace and, with ``again=true``, the answer it would get today.

        With ``revision``, ``again`` is the answer under the policy of that revision, at the time of the entry.
        """
        refuse_unknown_parameters(request, {"again", "revision"})
        again = choice_in(request, "again", ("false", "true"))
        revision = _revision_in(request)
        row = selectors.answer(decision_id)
        if row is None:
            raise Http404
        record = record_of_row(row)
        as_of = policy_as_of(revision) if revision is not None else None
        decided = decide_again(record, as_of) if as_of or again == "true" else None
        body = {**AccessLogOutput(row).data, "trace": trace(record), "again": decided}
        return etags.conditional_response(request, body, etags.tag_of(body))


def _revision_in(request: Request) -> int | None:
    """Return the parameter ``revision``, None if absent. Raises ValidationError if there is no such revision."""
    number = whole_number_in(request, "revision", 1, _MAX_REVISION)
    if number is not None:
        try:
            revision_of(number)
        except Gone as error:
            raise refused_parameter("revision", error.message) from None
    return number
