"""The policy document as Python values, and its canonical bytes. No I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Invalid
from policies.document.sections import BY_NAME, EXPECT, SECTIONS, SETTINGS
from policies.document.writing import yaml_of

VERSION = 1
Row = Mapping[str, Any]
Rows = Mapping[Any, Row]
"""Rows of a section by their natural key, in the order of the document."""


@dataclass(frozen=True, slots=True)
class DocumentError:
    """One error of a document: its place (line and column from 1, JSON Pointer) and a message."""

    line: int
    column: int
    pointer: str
    message: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.pointer or '/'}: {self.message}"


class DocumentRefused(Invalid):
    """The document has errors: ``errors`` has all of them, up to a limit, in the order of their lines."""

    code = "document-refused"
    field: ClassVar[str] = "document"

    def __init__(self, errors: Sequence[DocumentError]) -> None:
        self.errors = tuple(errors)
        first = self.errors[0]
        super().__init__(
            _("line %(line)s, column %(column)s, %(pointer)s: %(problem)s"),
            line=first.line,
            column=first.column,
            pointer=first.pointer or "/",
            problem=first.message,
        )

    def details(self) -> list[dict[str, Any]]:
        """Return every error with its line, column (from 1) and JSON Pointer."""
        return [
            {
                "field": self.field,
                "code": self.code,
                "message": str(each.message),
                "line": each.line,
                "column": each.column,
                "pointer": each.pointer,
            }
            for each in self.errors
        ]


@dataclass(frozen=True, slots=True)
class Document:
    """A valid document: the settings, and the rows of each section that it has, with all of their fields.

    A section that the document leaves out is missing in ``tables`` (``settings``: None). ``unlisted_settings``: those
    that the section ``settings`` leaves out, so that they get their default.
    """

    settings: Mapping[str, Any] | None
    tables: Mapping[str, Rows]
    unlisted_settings: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def sections(self) -> frozenset[str]:
        """Return the names of the sections that the document has."""
        return frozenset(self.tables) | ({SETTINGS} if self.settings is not None else set())

    @property
    def expectations(self) -> tuple[Row, ...]:
        """Return the expectations of the document."""
        return tuple(self.tables.get(EXPECT.name, {}).values())

    def values(self) -> dict[str, Any]:
        """Return the document as JSON-compatible values in canonical order, without fields that have their default."""
        found: dict[str, Any] = {"version": VERSION}
        if self.settings is not None:
            found[SETTINGS] = dict(self.settings)
        for section in SECTIONS:
            if section.name in self.tables:
                found[section.name] = [section.shown(row) for row in section.in_order(self.tables[section.name])]
        return found

    def canonical(self) -> bytes:
        """Return the canonical YAML of the document: equal documents have equal bytes."""
        return yaml_of(self.values()).encode()

    def rows(self, name: str) -> Rows | None:
        """Return the rows of a section, None if the document does not have it."""
        return self.tables.get(BY_NAME[name].name)
