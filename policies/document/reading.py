"""Read a policy document: parse, validate and canonicalize it. All errors are reported at once."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework.exceptions import ValidationError

from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _
from policies.document.document import VERSION, Document, DocumentError, DocumentRefused
from policies.document.limits import Unreadable
from policies.document.parsing import Place, parse
from policies.document.references import faults_of
from policies.document.sections import BY_NAME, SECTIONS, SETTINGS, Section, setting_defaults, settings_input

MAX_ERRORS = 100
_VERSION = "version"


def read(data: bytes) -> Document:
    """Read a document from YAML or JSON in UTF-8. Raises DocumentRefused."""
    try:
        values, place = parse(data)
    except Unreadable as error:
        raise DocumentRefused([DocumentError(error.line, error.column, error.pointer, error.message)]) from None
    return _Reading(values, place).document()


class _Reading:
    """Validator of the values of a document, which collects all errors."""

    def __init__(self, values: Any, place: Place) -> None:
        self._values, self._place = values, place
        self._errors: list[DocumentError] = []
        self._faulty = set[Any]()  # the sections with errors

    def document(self) -> Document:
        if not isinstance(self._values, Mapping):
            self._add((), Message(_("a document is an object with a version and sections")))
            raise DocumentRefused(self._errors)
        self._check_version()
        self._check_names()
        settings = self._settings() if SETTINGS in self._values else None
        tables = {}
        for section in SECTIONS:
            if section.name in self._values and self._has_room():
                tables[section.name] = self._rows(section, self._values[section.name])
        for fault in faults_of(tables, frozenset(self._faulty)):
            self._add(fault.path, fault.message)
        if self._errors:
            self._errors.sort(key=lambda error: (error.line, error.column))
            raise DocumentRefused(self._errors[:MAX_ERRORS])
        plain = {
            name: BY_NAME[name].listed({key: row for key, (row, _path) in rows.items()})
            for name, rows in tables.items()
        }
        given = self._values.get(SETTINGS, {}).keys()
        return Document(settings, plain, frozenset(settings or ()) - given)

    def _check_version(self) -> None:
        version = self._values.get(_VERSION)
        if version is None:
            self._add((), Message(_("version: %(number)s is missing"), number=VERSION))
        elif version != VERSION or isinstance(version, bool):
            words = _("this release reads version %(known)s of the document, not %(number)s")
            self._add((_VERSION,), Message(words, known=VERSION, number=str(version)[:32]))

    def _check_names(self) -> None:
        known = {_VERSION, SETTINGS, *BY_NAME}
        for name in self._values:
            if name not in known:
                words = _("unknown section %(name)s; the sections are %(known)s")
                self._add(
                    (name,), Message(words, name=repr(name[:64]), known=", ".join([SETTINGS, *BY_NAME])), key=True
                )

    def _settings(self) -> dict[str, Any]:
        validated = self._validated(settings_input(), self._values[SETTINGS], (SETTINGS,))
        return {**setting_defaults(), **(validated or {})}

    def _rows(self, section: Section, values: Any) -> "dict[Any, tuple[dict[str, Any], tuple[Any, ...]]]":
        """Return the rows of a section by their key, each with its path."""
        rows: dict[Any, tuple[dict[str, Any], tuple[Any, ...]]] = {}
        if not isinstance(values, list):
            self._add((section.name,), Message(_("a list of objects is needed")))
            return rows
        if len(values) > section.at_most:
            words = _("at most %(number)s entries; longer lists of networks belong to a list subscription")
            self._add((section.name,), Message(words, number=f"{section.at_most:,}"))
            return rows
        for place, value in enumerate(values):
            if not self._has_room():
                break
            path = (section.name, place)
            validated = self._validated(section.input, value, path)
            if validated is None:
                continue
            row = section.row_from(validated)
            self._check_row(section, row, path)
            key = section.key_of(row)
            if key in rows:
                words = _("%(key)s is listed already, as entry %(number)s")
                shown = " ".join(str(part) for part in key if part is not None)
                self._add(path, Message(words, key=shown, number=rows[key][1][1] + 1))
            rows.setdefault(key, (row, path))
        return rows

    def _validated(self, serializer: Any, value: Any, path: tuple[Any, ...]) -> dict[str, Any] | None:
        try:
            validated: dict[str, Any] = serializer.run_validation(value)
        except ValidationError as error:
            for inner, message, is_key in _messages(error.get_full_details()):
                self._add((*path, *inner), message, key=is_key)
            return None
        except DjangoValidationError as error:
            self._add(path, "; ".join(error.messages))
            return None
        return validated

    def _check_row(self, section: Section, row: Mapping[str, Any], path: tuple[Any, ...]) -> None:
        if section.check is None:
            return
        try:
            section.check(row)
        except DjangoValidationError as error:
            for name, messages in error.message_dict.items():
                self._add((*path, name), "; ".join(messages))

    def _has_room(self) -> bool:
        return len(self._errors) < MAX_ERRORS

    def _add(self, path: Iterable[Any], message: str, *, key: bool = False) -> None:
        if self._has_room():
            parts = list(path)
            self._faulty.update(parts[:1])
            place = self._place_of(parts, key=key)
            pointer = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)
            self._errors.append(DocumentError(place.line, place.column, pointer, message))

    def _place_of(self, path: list[Any], *, key: bool) -> Place:
        """Return the place of the value at this path, or of the nearest value that contains it."""
        place = self._place
        for number, part in enumerate(path, 1):
            if key and number == len(path) and part in place.keys:
                return place.keys[part]
            if part not in place.inner:
                break
            place = place.inner[part]
        return place


def _messages(details: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str, bool]]:
    """Yield path and message of each error of a serializer, and whether the key is wrong."""
    if isinstance(details, Mapping) and set(details) == {"message", "code"} and isinstance(details["code"], str):
        yield path, str(details["message"]), details["code"] == "unknown-field"
    elif isinstance(details, Mapping):
        for name, inner in details.items():
            yield from _messages(inner, path if name == "non_field_errors" else (*path, name))
    else:
        for place, inner in enumerate(details):
            is_message = isinstance(inner, Mapping) and set(inner) == {"message", "code"}
            yield from _messages(inner, path if is_message or not inner else (*path, place))
