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
from gatewall.whatif.shapes import FLAG, NUMBER, TEXT, list_of, object_of

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


_COUNTS = {"type": "object", "additionalProperties": NUMBER}


def _top(properties: dict[str, Any]) -> dict[str, Any]:
    times = {"first_at": TEXT, "last_at": TEXT}
    rows = list_of({**properties, "count": NUMBER, **times, "examples": {"type": "array", "items": TEXT}})
    return object_of({"number": NUMBER, "error": NUMBER, "results": rows})


_SUBJECT = {"kind": TEXT, "id": NUMBER, "name": {"type": ["string", "null"]}}
_ANSWER = object_of({"outcome": TEXT, "reason": TEXT})
_HOST = {"host": {"type": ["string", "null"]}}
_LOST_OR_GAINED = {**_HOST, "path": TEXT, "loses": FLAG, "from": _ANSWER, "to": _ANSWER}
_ACCESS = object_of(
    {
        "people": _top({"subject": object_of(_SUBJECT), **_LOST_OR_GAINED}),
        "hosts": _top({**_HOST, "loses": FLAG}),
        "anonymous": _top({"client_ip": TEXT, **_LOST_OR_GAINED}),
    }
)
_RESULT = object_of(
    {
        **dict.fromkeys(("read", "untouched", "unchanged", "changed"), NUMBER),
        "undecidable": object_of({"total": NUMBER, "missing": _COUNTS}),
        "assumed": _COUNTS,
        "access": _ACCESS,
        "people": _top(_SUBJECT),
        "changes": _top({"from": _ANSWER, "to": _ANSWER, "lets_in": FLAG}),
        "hosts": _top(_HOST),
        "subjects": _top(_SUBJECT),
        "clients": _top({"client_ip": TEXT}),
        "policy_revision": NUMBER,
        "complete_from": {"type": ["string", "null"]},
        "seconds": {"type": "number"},
    }
)
_RESULT["required"].remove("access")  # a result of an earlier release has none
_DRAFT = object_of(
    {
        "change": {"type": "string", "enum": [*Write]},
        "id": {"type": ["integer", "null"]},
        "values": {"type": "object"},
        "force": FLAG,
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
