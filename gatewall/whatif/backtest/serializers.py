"""Serializers of backtests."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from gatewall.api.serializers import FlagField, MomentField, ShapedField, StrictInput, WholeNumberField
from gatewall.policy.resources import Write
from gatewall.whatif.backtest.drafts import KINDS, Draft, read
from gatewall.whatif.backtest.models import Backtest, State

DEFAULT_SPAN = timedelta(hours=24)
MAX_SPAN = timedelta(days=366)
_MAX_ID = 2**63 - 1


class BacktestInput(StrictInput):
    """A draft and a window, as sent. ``values`` are those of the resource's own API."""

    resource = serializers.ChoiceField(choices=[*KINDS])
    change = serializers.ChoiceField(choices=[*Write], required=False)
    id = WholeNumberField(min_value=1, max_value=_MAX_ID, required=False, allow_null=True)
    values = ShapedField({"type": "object"}, required=False)
    force = FlagField(required=False)
    start_time = MomentField(required=False)
    end_time = MomentField(required=False)

    def validate_values(self, value: Any) -> Any:
        """Raise ValidationError unless it is an object."""
        if not isinstance(value, dict):
            raise serializers.ValidationError(_("an object is needed"))
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        change = Write(attrs.get("change", Write.CREATE))
        if (attrs.get("id") is None) != (change is Write.CREATE):
            words = "a new row has none yet" if change is Write.CREATE else "which row is meant"
            raise serializers.ValidationError({"id": words})
        values = attrs.get("values", {})
        read(Draft(attrs["resource"], change, attrs.get("id"), values))
        # Not stored with the values: saving the draft later needs a new confirmation.
        force = attrs.get("force", False) or values.get("force", False)
        others = {name: value for name, value in values.items() if name != "force"}
        draft = Draft(attrs["resource"], change, attrs.get("id"), others, force=force)
        return {"draft": draft, **_window(attrs.get("start_time"), attrs.get("end_time"))}


def _window(start: datetime | None, end: datetime | None) -> dict[str, datetime]:
    end = end or timezone.now()
    try:
        start = start or end - DEFAULT_SPAN
    except OverflowError:
        raise serializers.ValidationError({"end_time": _("a moment that has a day before it")}) from None
    if start >= end:
        raise serializers.ValidationError({"end_time": _("a moment after start_time")})
    if end - start > MAX_SPAN:
        raise serializers.ValidationError(
            {"start_time": _("at most %(number)s days before end_time") % {"number": MAX_SPAN.days}}
        )
    return {"start": start, "end": end}


_TEXT, _NUMBER, _TEXTS = {"type": "string"}, {"type": "integer"}, {"type": "array", "items": {"type": "string"}}
_COUNTS = {"type": "object", "additionalProperties": _NUMBER}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties]}


def _top(properties: dict[str, Any]) -> dict[str, Any]:
    row = _object({**properties, "count": _NUMBER, "examples": _TEXTS})
    return _object({"number": _NUMBER, "error": _NUMBER, "results": {"type": "array", "items": row}})


_SUBJECT = {"kind": _TEXT, "id": _NUMBER, "name": {"type": ["string", "null"]}}
_ANSWER = _object({"outcome": _TEXT, "reason": _TEXT})
_RESULT = _object(
    {
        **dict.fromkeys(("read", "untouched", "unchanged", "changed"), _NUMBER),
        "undecidable": _object({"total": _NUMBER, "missing": _COUNTS}),
        "assumed": _COUNTS,
        "people": _top(_SUBJECT),
        "changes": _top({"from": _ANSWER, "to": _ANSWER, "lets_in": {"type": "boolean"}}),
        "hosts": _top({"host": {"type": ["string", "null"]}}),
        "subjects": _top(_SUBJECT),
        "clients": _top({"client_ip": _TEXT}),
        "policy_revision": _NUMBER,
        "complete_from": {"type": ["string", "null"]},
        "seconds": {"type": "number"},
    }
)
_PROGRESS = _object({"done": _NUMBER, "total": {"type": ["integer", "null"]}})
_DRAFT = _object(
    {
        "change": {"type": "string", "enum": [*Write]},
        "id": {"type": ["integer", "null"]},
        "values": {"type": "object"},
        "force": {"type": "boolean"},
    }
)


class BacktestOutput(serializers.ModelSerializer[Backtest]):
    """A backtest in a list."""

    state = serializers.ChoiceField(choices=State.values)
    draft = ShapedField(_DRAFT)
    progress = serializers.SerializerMethodField()

    class Meta:
        model = Backtest
        fields: tuple[str, ...] = (
            *("id", "created_at", "created_by", "resource", "draft", "start_time", "end_time"),
            *("state", "progress", "started_at", "finished_at", "failure"),
        )

    def get_progress(self, run: Backtest) -> dict[str, Any]:
        """Return the number of requests done and in total; null until they are counted."""
        return {"done": run.done, "total": run.total}


class BacktestWithResult(BacktestOutput):
    """A backtest with its result, null until it is finished; ``saved`` says how the draft was saved."""

    result = ShapedField(dict(_RESULT, type=["object", "null"]), allow_null=True)
    saved = ShapedField({"type": ["object", "null"]}, allow_null=True)

    class Meta(BacktestOutput.Meta):
        fields = (*BacktestOutput.Meta.fields, "result", "saved")
