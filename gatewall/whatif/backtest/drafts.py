"""A change of policy that somebody thinks of: of one row, in the words of the API's own resources.

It is read by the serializers of those resources and made by their services, so that a draft is refused where the
change itself would be, in the same words.
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
    """A change of one row: ``values`` as they would be sent to the resource, ``id`` of the row that there is."""

    resource: str
    change: Write
    id: int | None
    values: Mapping[str, Any]
    force: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the draft as it is kept."""
        return {"change": self.change.value, "id": self.id, "values": dict(self.values), "force": self.force}


KINDS: Mapping[str, PolicyResource] = {name: each for name, each in BY_NAME.items() if each.draft}
"""What a draft may change, by the name of its resource."""


def read(draft: Draft) -> dict[str, Any]:
    """Return the values as the service takes them. Raises the serializer's ValidationError."""
    kind = KINDS[draft.resource]
    if getattr(kind, draft.change) is None:
        words = _("%(resource)s are not changed in this way")
        raise serializers.ValidationError({"change": words % {"resource": draft.resource}})
    if draft.change is Write.DELETE:
        if draft.values:
            raise serializers.ValidationError({"values": _("what is deleted has no values")})
        return {}
    form = kind.draft(data=dict(draft.values), partial=draft.change is Write.UPDATE)
    if not form.is_valid():
        raise serializers.ValidationError({"values": form.errors})
    return dict(form.validated_data)


def apply(draft: Draft, *, actor: str, caller: Caller | None, note: str = "", **other: Any) -> Any:
    """Make the change by the service of its resource; ``other`` values stand in the place of those of the draft.

    Returns the row, None where it was deleted. Raises the serializer's ValidationError and what the service raises.
    """
    kind, values = KINDS[draft.resource], {**read(draft), **other}
    values.pop("force", None)  # whose force counts is whoever applies the draft
    row = None if draft.change is Write.CREATE else row_of(draft)
    if note and kind.note and draft.change is not Write.DELETE:
        before = values.get(kind.note, getattr(row, kind.note, ""))
        values[kind.note] = _noted(before, note, 1000 if kind.note == "description" else 500)
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


def _noted(text: str, note: str, limit: int) -> str:
    return f"{text} ({note})"[:limit] if text else note[:limit]
