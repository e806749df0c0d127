"""Draft of a change to one policy row or to the settings, applied by the resource's own serializer and services.

A draft is refused if the change itself would be refused, with the same error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from gatewall.kernel.clientip import Caller
from gatewall.policy.resources import PolicyResource, Write
from gatewall.publication.resources import BY_NAME


@dataclass(frozen=True, slots=True)
class Draft:
    """A change of one row: ``values`` as sent to the resource's API, ``id`` of the existing row."""

    resource: str
    change: Write
    id: int | None
    values: Mapping[str, Any]
    force: bool = False

    def as_json(self) -> dict[str, Any]:
        return {"change": self.change.value, "id": self.id, "values": dict(self.values), "force": self.force}


KINDS: Mapping[str, PolicyResource] = {name: each for name, each in BY_NAME.items() if each.draft}
"""The resources that a draft may change, by name."""


def from_values(
    resource: str, change: str | None, row_id: int | None, values: Mapping[str, Any], *, force: bool
) -> Draft:
    """Return the draft of these input values; ``change`` None is the default. Raises the serializer's ValidationError.

    A ``force`` among the values applies to this trial only: saving the draft later needs a new confirmation.
    """
    is_single = KINDS[resource].is_single
    write = Write(change or (Write.UPDATE if is_single else Write.CREATE))
    if is_single and row_id is not None:
        raise serializers.ValidationError({"id": _("%(resource)s have no id") % {"resource": resource}})
    if not is_single and (row_id is None) != (write is Write.CREATE):
        words = "a new row has no id yet" if write is Write.CREATE else "the id of the row is required"
        raise serializers.ValidationError({"id": words})
    others = {name: value for name, value in values.items() if name != "force"}
    return Draft(resource, write, row_id, others, force=force or values.get("force") is True)


def read(draft: Draft) -> dict[str, Any]:
    """Return the values for the service. Raises the serializer's ValidationError."""
    kind = KINDS[draft.resource]
    if getattr(kind, draft.change) is None:
        words = _("%(resource)s cannot be changed in this way")
        raise serializers.ValidationError({"change": words % {"resource": draft.resource}})
    if draft.change is Write.DELETE:
        if draft.values:
            raise serializers.ValidationError({"values": _("a deletion has no values")})
        return {}
    form = kind.draft(data=dict(draft.values), partial=draft.change is Write.UPDATE)
    if not form.is_valid():
        raise serializers.ValidationError({"values": form.errors})
    return dict(form.validated_data)


def apply(draft: Draft, *, actor: str, caller: Caller | None, note: str = "", **other: Any) -> Any:
    """Make the change through the service of its resource; ``other`` overrides values of the draft.

    Returns the row, None after a deletion. Raises the serializer's ValidationError and the service's errors.
    """
    kind, values = KINDS[draft.resource], {**read(draft), **other}
    values.pop("force", None)  # only the force of the current caller counts
    row = None if draft.change is Write.CREATE or kind.is_single else row_of(draft)
    if note and kind.note and draft.change is not Write.DELETE:
        before = values.get(kind.note, getattr(row, kind.note, ""))
        values[kind.note] = _append_note(before, note, 1000 if kind.note == "description" else 500)
    rows = () if row is None else (row,)
    return kind.write(draft.change, *rows, actor=actor, caller=caller, force=draft.force, **values)


def row_of(draft: Draft) -> Any:
    """Return the row that the draft changes. Raises the serializer's ValidationError."""
    row = KINDS[draft.resource].rows().filter(pk=draft.id).first()
    if row is None:
        raise serializers.ValidationError(
            {"id": _("there is no such row of %(resource)s") % {"resource": draft.resource}}
        )
    return row


def _append_note(text: str, note: str, limit: int) -> str:
    return f"{text} ({note})"[:limit] if text else note[:limit]
