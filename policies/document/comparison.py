"""Compare a policy document with the policy in force, without writing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from gatewall.kernel.changes import Action
from policies.document.document import Document
from policies.document.export import export
from policies.document.sections import ACCESS_RULES, BUILTIN_WAF_RULES, SECTIONS, SETTINGS, Section


@dataclass(frozen=True, slots=True)
class Difference:
    """A change that applying the document makes to one object: section, key, and differing fields.

    For a created object, ``after`` has all fields that differ from the default; so has ``before`` for a deleted one.
    ``position`` is one of the fields of access rules.
    """

    section: str
    key: tuple[Any, ...]
    action: Action
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Return the key as one text."""
        return " ".join(str(part) for part in self.key if part is not None)


def changes(document: Document) -> list[Difference]:
    """Return what applying the document would create, change and delete, in the order of the document.

    Indirect changes are not included: for example, of an access rule that names a deleted domain, if the document has
    no section for access rules. Expired entries of the document are not created: so an applied document does not
    differ from the policy once its entries expire.
    """
    return list(differences(document, export(document.sections)))


def differences(document: Document, now: Document) -> Iterator[Difference]:
    """Yield the differences from ``now`` to the document, in the sections that the document has."""
    if document.settings is not None and now.settings is not None:
        yield from _changed(SETTINGS, (), now.settings, document.settings)
    for section in SECTIONS:
        if section.name in document.tables:
            yield from _differences_of(section, now.tables[section.name], document.tables[section.name])


def _differences_of(section: Section, now: Mapping[Any, Any], wanted: Mapping[Any, Any]) -> Iterator[Difference]:
    wanted, now = _complete(section, wanted, now), _complete(section, now, wanted)
    if section is ACCESS_RULES:
        wanted, now = _with_positions(wanted), _with_positions(now)
    for row in section.in_order(now):
        if (key := section.key_of(row)) not in wanted:
            yield Difference(section.name, key, Action.DELETED, _shown(section, row), {})
    at = timezone.now()
    for row in section.in_order(wanted):
        if (key := section.key_of(row)) in now:
            yield from _changed(section.name, key, now[key], row)
        elif not section.has_expired(row, at):
            yield Difference(section.name, key, Action.CREATED, {}, _shown(section, row))


def _complete(section: Section, rows: Mapping[Any, Any], others: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the rows; built-in rules that only ``others`` has are added with their shipped values."""
    if section is not BUILTIN_WAF_RULES:
        return rows
    missing = {key: {"key": key[0], **section.defaults(key)} for key in others if key not in rows}
    return {**rows, **missing}


def _with_positions(rows: Mapping[Any, Any]) -> dict[Any, dict[str, Any]]:
    return {key: {**row, "position": place} for place, (key, row) in enumerate(rows.items(), 1)}


def _shown(section: Section, row: Mapping[str, Any]) -> dict[str, Any]:
    positions = {"position": row["position"]} if "position" in row else {}
    return {**section.shown(row), **positions}


def _changed(
    section: str, key: tuple[Any, ...], before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Difference]:
    differing = [name for name, value in after.items() if before.get(name) != value]
    if differing:
        old, new = ({name: side.get(name) for name in differing} for side in (before, after))
        yield Difference(section, key, Action.CHANGED, old, new)
