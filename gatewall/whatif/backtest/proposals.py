"""Proposals: every kind of policy change that a backtest tries and may save.

A proposal is one row or the settings (``drafts.Draft``), a list of such changes, a policy document, or a restore of an
earlier revision. The services of the change itself apply it, so it is refused if the change would be refused.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, assert_never

from django.core.exceptions import ValidationError
from rest_framework import serializers

from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Refusal
from gatewall.policy import revisions
from gatewall.policy.resources import Write
from gatewall.whatif.backtest import drafts
from gatewall.whatif.backtest.drafts import Draft
from policies.document import applying as documents
from policies.document.document import Document
from policies.document.reading import read
from policies.history.lockout import guard_against_lockout
from policies.history.restore import restore
from policies.history.rule_lockout import guard_against_rules

MAX_CHANGES = 100
"""Maximum number of drafts in one list of changes."""


class Kind(StrEnum):
    """The kinds of proposals."""

    ROW = "row"
    CHANGES = "changes"
    DOCUMENT = "document"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class Changes:
    """Drafts that are applied in order, as one revision. A later draft may name rows that an earlier one creates."""

    drafts: tuple[Draft, ...]
    force: bool = False


@dataclass(frozen=True, slots=True)
class Restore:
    """The policy of an earlier revision."""

    revision: int
    force: bool = False


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """A policy document: its canonical text, its sections, and the settings that its ``settings`` leave out."""

    text: str
    sections: tuple[str, ...]
    force: bool = False
    unlisted_settings: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: Document, *, force: bool = False) -> "WholeDocument":
        text, unlisted = document.canonical().decode(), tuple(sorted(document.unlisted_settings))
        return cls(text, tuple(sorted(document.sections)), force, unlisted)


Proposal = Draft | Changes | WholeDocument | Restore


def kind_of(proposal: Proposal) -> Kind:
    """Return the kind of a proposal."""
    match proposal:
        case Draft():
            return Kind.ROW
        case Changes():
            return Kind.CHANGES
        case WholeDocument():
            return Kind.DOCUMENT
        case Restore():
            return Kind.RESTORE
        case _:
            assert_never(proposal)


def apply(proposal: Proposal, *, actor: str, caller: Caller | None, note: str = "", **other: Any) -> Any:
    """Make the change; ``other`` overrides values of a draft, ``note`` is added to the remarks of its rows.

    Returns the row of a draft, None after a deletion and for other kinds. Raises the errors of the change itself.
    """
    match proposal:
        case Draft():
            return drafts.apply(proposal, actor=actor, caller=caller, note=note, **other)
        case Changes():
            _apply_changes(proposal, actor=actor, caller=caller, note=note)
        case WholeDocument(text=text):
            documents.apply(read(text.encode()), actor=actor, caller=caller, force=proposal.force)
        case Restore():
            restore(proposal.revision, actor=actor, caller=caller, force=proposal.force)
        case _:
            assert_never(proposal)
    return None


@revisions.one_at_a_time
def _apply_changes(changes: Changes, *, actor: str, caller: Caller | None, note: str) -> None:
    """Apply every draft in order. The caller may be locked out between two drafts, but not at the end."""
    force = changes.force
    guards = guard_against_lockout(caller, force=force), guard_against_rules(caller, force=force)
    with guards[0], guards[1], revisions.as_one_revision(actor):
        for number, draft in enumerate(changes.drafts):
            with _errors_placed(number):
                drafts.apply(replace(draft, force=force), actor=actor, caller=None, note=note)


@contextmanager
def _errors_placed(number: int) -> Iterator[None]:
    """Add to every error the number of the change that it is about."""
    try:
        yield
    except serializers.ValidationError as error:
        raise serializers.ValidationError({"changes": {str(number): error.detail}}) from error
    except ValidationError as error:
        detail = {"values": serializers.as_serializer_error(error)}
        raise serializers.ValidationError({"changes": {str(number): detail}}) from error
    except Refusal as refusal:
        refusal.put_in("%(place)s: %(why)s", place=f"changes.{number}")
        raise


def as_json(proposal: Proposal) -> dict[str, Any]:
    """Return the proposal for a JSON column; ``from_json`` reads it."""
    match proposal:
        case Draft():
            return proposal.as_json()
        case Changes():
            listed = [{"resource": each.resource, **_without_force(each)} for each in proposal.drafts]
            return {"changes": listed, "force": proposal.force}
        case WholeDocument():
            lists = {"sections": [*proposal.sections], "unlisted_settings": [*proposal.unlisted_settings]}
            return {"document": proposal.text, "force": proposal.force, **lists}
        case Restore():
            return {"restore": proposal.revision, "force": proposal.force}
        case _:
            assert_never(proposal)


def from_json(kind: str, resource: str, kept: Mapping[str, Any]) -> Proposal:
    """Return the proposal of ``as_json``; ``resource`` is that of a draft."""
    match Kind(kind):
        case Kind.ROW:
            return Draft(resource, Write(kept["change"]), kept["id"], kept["values"], kept["force"])
        case Kind.CHANGES:
            listed = [
                Draft(each["resource"], Write(each["change"]), each["id"], each["values"]) for each in kept["changes"]
            ]
            return Changes(tuple(listed), kept["force"])
        case Kind.DOCUMENT:
            unlisted = kept.get("unlisted_settings", ())  # rows of 0.1.0 have none
            return WholeDocument(kept["document"], tuple(kept["sections"]), kept["force"], tuple(unlisted))
        case Kind.RESTORE:
            return Restore(kept["restore"], kept["force"])


def _without_force(draft: Draft) -> dict[str, Any]:
    return {name: value for name, value in draft.as_json().items() if name != "force"}
