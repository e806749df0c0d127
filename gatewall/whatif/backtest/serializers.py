"""Serializers of backtests."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from gatewall.api.serializers import FlagField, MomentField, ShapedField, StrictInput, WholeNumberField
from gatewall.models import PolicyRevision
from gatewall.policy.resources import Write
from gatewall.whatif.backtest.drafts import KINDS, from_values, read
from gatewall.whatif.backtest.models import Backtest, State
from gatewall.whatif.backtest.proposals import MAX_CHANGES, Changes, Kind, Proposal, Restore, WholeDocument
from gatewall.whatif.document_field import DocumentField
from gatewall.whatif.log_scope import for_caller, missing_log_scope
from gatewall.whatif.shapes import FLAG, NUMBER, TEXT, list_of, object_of
from policies.document.reading import read as read_document

DEFAULT_SPAN = timedelta(hours=24)
MAX_SPAN = timedelta(days=366)
_MAX_ID = 2**63 - 1


class DraftInput(StrictInput):
    """A change of one row or of the settings, as sent. ``values`` are those of the resource's own API."""

    resource = serializers.ChoiceField(choices=[*KINDS])
    change = serializers.ChoiceField(choices=[*Write], required=False)
    id = WholeNumberField(min_value=1, max_value=_MAX_ID, required=False, allow_null=True)
    values = ShapedField({"type": "object"}, required=False)

    def validate_values(self, value: Any) -> Any:
        if not isinstance(value, dict):
            raise serializers.ValidationError(_("an object is needed"))
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        values = attrs.get("values", {})
        draft = from_values(attrs["resource"], attrs.get("change"), attrs.get("id"), values, force=False)
        return {"draft": draft}


class BacktestInput(DraftInput):
    """A proposal and a window, as sent. A proposal is one draft, a list of drafts, a policy document, or a
    revision to restore.
    """

    one_of = ("resource", "changes", "document", "restore")

    resource = serializers.ChoiceField(choices=[*KINDS], required=False)
    changes = serializers.ListField(child=DraftInput(), min_length=1, max_length=MAX_CHANGES, required=False)
    document = DocumentField(required=False)
    restore = WholeNumberField(min_value=1, max_value=_MAX_ID, required=False)
    force = FlagField(required=False)
    start_time = MomentField(required=False)
    end_time = MomentField(required=False)

    def validate_restore(self, value: int) -> int:
        if not PolicyRevision.objects.filter(pk=value).exists():
            raise serializers.ValidationError(_("there is no such revision"))
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        _refuse_several_kinds(attrs)
        window = _window(attrs.get("start_time"), attrs.get("end_time"))
        return {"proposal": _proposal(attrs), **window}


def _refuse_several_kinds(attrs: dict[str, Any]) -> None:
    given = [name for name in BacktestInput.one_of if name in attrs]
    if not given:
        words = _("one of %(names)s is needed") % {"names": ", ".join(BacktestInput.one_of)}
        raise serializers.ValidationError({"resource": words})
    besides = given[1:] if given[0] == "resource" else [*given[1:], *(each for each in _OF_A_DRAFT if each in attrs)]
    if besides:
        words = _("not together with %(name)s") % {"name": given[0]}
        raise serializers.ValidationError(dict.fromkeys(besides, words))


_OF_A_DRAFT = ("change", "id", "values")


def _proposal(attrs: dict[str, Any]) -> Proposal:
    """Return the proposal of a body. Raises the errors of a draft; a list of drafts is validated at its trial."""
    force = attrs.get("force", False)
    if "changes" in attrs:
        drafts = tuple(each["draft"] for each in attrs["changes"])
        return Changes(drafts, force or any(each.force for each in drafts))
    if "document" in attrs:
        return WholeDocument.of(read_document(attrs["document"].encode()), force=force)
    if "restore" in attrs:
        return Restore(attrs["restore"], force)
    draft = from_values(attrs["resource"], attrs.get("change"), attrs.get("id"), attrs.get("values", {}), force=force)
    read(draft)
    return draft


def _window(start: datetime | None, end: datetime | None) -> dict[str, datetime]:
    end = end or timezone.now()
    try:
        start = start or end - DEFAULT_SPAN
    except OverflowError:
        raise serializers.ValidationError({"end_time": _("the time is too early")}) from None
    if start >= end:
        raise serializers.ValidationError({"end_time": _("a time after start_time")})
    if end - start > MAX_SPAN:
        raise serializers.ValidationError(
            {"start_time": _("at most %(number)s days before end_time") % {"number": MAX_SPAN.days}}
        )
    return {"start": start, "end": end}


COUNTS_BY_NAME = {"type": "object", "additionalProperties": NUMBER}


def _top(properties: dict[str, Any]) -> dict[str, Any]:
    times = {"first_at": TEXT, "last_at": TEXT}
    rows = list_of({**properties, "count": NUMBER, **times, "examples": {"type": "array", "items": TEXT}})
    return object_of({"number": NUMBER, "error": NUMBER, "results": rows})


_SUBJECT = {"kind": TEXT, "id": NUMBER, "name": {"type": ["string", "null"]}}
ANSWER = object_of({"outcome": TEXT, "reason": TEXT})
_HOST = {"host": {"type": ["string", "null"]}}
_LOST_OR_GAINED = {**_HOST, "path": TEXT, "loses": FLAG, "from": ANSWER, "to": ANSWER}
ACCESS = object_of(
    {
        "people": _top({"subject": object_of(_SUBJECT), **_LOST_OR_GAINED}),
        "hosts": _top({**_HOST, "loses": FLAG}),
        "anonymous": _top({"client_ip": TEXT, **_LOST_OR_GAINED}),
    }
)
_RESULT = object_of(
    {
        **dict.fromkeys(("read", "untouched", "unchanged", "changed"), NUMBER),
        "undecidable": object_of({"total": NUMBER, "missing": COUNTS_BY_NAME}),
        "assumed": COUNTS_BY_NAME,
        "access": ACCESS,
        "people": _top(_SUBJECT),
        "changes": _top({"from": ANSWER, "to": ANSWER, "lets_in": FLAG}),
        "hosts": _top(_HOST),
        "subjects": _top(_SUBJECT),
        "clients": _top({"client_ip": TEXT}),
        "policy_revision": NUMBER,
        "scope_missing": {"type": ["string", "null"]},
        "complete_from": {"type": ["string", "null"]},
        "seconds": {"type": "number"},
    }
)
_RESULT["required"].remove("access")  # a result of an earlier release has none
_DRAFT_FIELDS = {
    "change": {"type": "string", "enum": [*Write]},
    "id": {"type": ["integer", "null"]},
    "values": {"type": "object"},
}
_DRAFT = dict(object_of({**_DRAFT_FIELDS, "force": FLAG}), type=["object", "null"])
_CHANGES = dict(list_of({"resource": TEXT, **_DRAFT_FIELDS}), type=["array", "null"])


class _PartField(ShapedField):
    """A part of the proposals of one kind; null for the other kinds."""

    def __init__(self, kind: Kind, part: Callable[[Backtest], Any], shape: Mapping[str, Any]) -> None:
        super().__init__(shape, read_only=True)
        self._kind, self._part = kind, part

    def get_attribute(self, instance: Backtest) -> Any:
        """Return the part, None for another kind of proposal."""
        return self._part(instance) if instance.kind == self._kind else None


def progress_of(run: Backtest) -> dict[str, Any]:
    """Return the number of requests done and in total; null until they are counted."""
    return {"done": run.done, "total": run.total}


class BacktestOutput(serializers.ModelSerializer[Backtest]):
    """A backtest in a list. Of ``draft``, ``changes`` and ``restore``, the one of its ``kind`` is not null.

    A list leaves ``document`` out.
    """

    kind = serializers.ChoiceField(choices=[*Kind])
    resource = _PartField(Kind.ROW, lambda run: run.resource, {"type": ["string", "null"]})
    draft = _PartField(Kind.ROW, lambda run: run.draft, _DRAFT)
    changes = _PartField(Kind.CHANGES, lambda run: run.draft["changes"], _CHANGES)
    restore = _PartField(Kind.RESTORE, lambda run: run.draft["restore"], {"type": ["integer", "null"]})
    state = serializers.ChoiceField(choices=State.values)
    progress = serializers.SerializerMethodField()

    class Meta:
        model = Backtest
        fields: tuple[str, ...] = (
            *("id", "created_at", "created_by", "kind", "resource", "draft", "changes", "restore"),
            *("start_time", "end_time", "state", "progress", "started_at", "finished_at", "failure"),
        )

    def get_progress(self, run: Backtest) -> dict[str, Any]:
        """Return the number of requests done and in total; null until they are counted."""
        return progress_of(run)


class _ResultField(ShapedField):
    """The result of a backtest, redacted if the caller may not read the access log."""

    def __init__(self) -> None:
        super().__init__(dict(_RESULT, type=["object", "null"]), read_only=True, allow_null=True)

    def to_representation(self, value: Any) -> Any:
        return for_caller(value, missing_log_scope(self.context.get("request")))


class BacktestWithResult(BacktestOutput):
    """A backtest with its result, null until it is finished; ``saved`` says how the proposal was saved."""

    document = _PartField(Kind.DOCUMENT, lambda run: run.draft["document"], {"type": ["string", "null"]})
    result = _ResultField()
    saved = ShapedField({"type": ["object", "null"]}, allow_null=True)

    class Meta(BacktestOutput.Meta):
        fields = (*BacktestOutput.Meta.fields, "document", "result", "saved")
