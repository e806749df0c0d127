"""Serializers of plans."""

from datetime import timedelta
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from gatewall.api.serializers import ShapedField, WholeNumberField
from gatewall.whatif.backtest.models import Backtest, State
from gatewall.whatif.backtest.proposals import Kind
from gatewall.whatif.backtest.serializers import MAX_SPAN, BacktestInput, progress_of
from gatewall.whatif.log_scope import for_caller, missing_log_scope
from gatewall.whatif.plans.replay import REPLAY, replay_of
from gatewall.whatif.shapes import FLAG, NUMBER, TEXT, list_of, object_of

_HOUR = 3600


class PlanInput(BacktestInput):
    """A proposal, as sent, and the recorded requests to replay: ``window`` in seconds before now, or two moments."""

    window = WholeNumberField(min_value=_HOUR, max_value=int(MAX_SPAN.total_seconds()), required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        window = attrs.pop("window", None)
        if window is not None and attrs.keys() & {"start_time", "end_time"}:
            raise serializers.ValidationError({"window": _("not together with start_time and end_time")})
        values = super().validate(attrs)
        if window is not None:
            values["start"] = values["end"] - timedelta(seconds=window)
        return values


_CHANGES = list_of(
    {
        "resource": TEXT,
        "id": {"type": ["integer", "null"]},
        "name": TEXT,
        "action": TEXT,
        "before": {"type": "object"},
        "after": {"type": "object"},
    }
)
CHANGES = dict(_CHANGES, type=["array", "null"])
COUNTS = {"type": "array", "items": {"type": "object"}}
_RESET = list_of({"name": TEXT, "before": {}, "after": {}})
_ROW = {"type": ["object", "null"], "properties": {"kind": TEXT, "id": NUMBER}}
_WANTED = {"effect": TEXT, "reason": {"type": ["string", "null"]}}
_GOT = object_of({"effect": TEXT, "reason": TEXT, "decided_by": _ROW})
EXPECTATIONS = list_of(
    {
        "name": TEXT,
        "passed": FLAG,
        "wanted": object_of(_WANTED),
        "got": dict(_GOT, type=["object", "null"]),
        "undecidable": {"type": ["string", "null"]},
    }
)


class _ReplayField(ShapedField):
    """People, hosts and clients that would lose or gain access by the recorded requests; null until the replay ends."""

    def __init__(self) -> None:
        super().__init__(dict(REPLAY, type=["object", "null"]), source="result", read_only=True, allow_null=True)

    def to_representation(self, value: Any) -> Any:
        return replay_of(for_caller(value, missing_log_scope(self.context.get("request"))))


class PlanOutput(serializers.ModelSerializer[Backtest]):
    """A plan in a list: what the proposal would change, and whether its author would be locked out."""

    kind = serializers.ChoiceField(choices=[*Kind])
    digest = serializers.CharField()
    revision = serializers.IntegerField(source="base_revision")
    counts = ShapedField(COUNTS, source="planned.counts")
    would_lock_you_out = serializers.BooleanField(source="planned.would_lock_you_out")
    applied_revision = serializers.SerializerMethodField()
    state = serializers.ChoiceField(choices=State.values)
    progress = serializers.SerializerMethodField()

    class Meta:
        model = Backtest
        fields: tuple[str, ...] = (
            *("id", "digest", "created_at", "created_by", "kind", "revision", "counts", "would_lock_you_out"),
            *("applied_revision", "start_time", "end_time", "state", "progress", "started_at", "finished_at"),
            "failure",
        )

    def get_progress(self, run: Backtest) -> dict[str, Any]:
        """Return the number of requests done and in total; null until they are counted."""
        return progress_of(run)

    def get_applied_revision(self, run: Backtest) -> int | None:
        """Return the revision that applied the plan, null if there is none."""
        return (run.saved or {}).get("id")


class PlanWithReplay(PlanOutput):
    """A plan with its changes, null if they are too many, expectations, and the replay, null until it is finished.

    ``reset_settings``: settings that are reset to their default, because a document with ``settings`` leaves them out.
    """

    changes = ShapedField(CHANGES, source="planned.changes", allow_null=True)
    reset_settings = ShapedField(_RESET, source="planned.reset_settings", read_only=True, default=list)
    expectations = ShapedField(EXPECTATIONS, source="planned.expectations")
    replay = _ReplayField()

    class Meta(PlanOutput.Meta):
        fields = (*PlanOutput.Meta.fields, "changes", "reset_settings", "expectations", "replay")
