"""Changes of policy rows by revision: which rows and settings are certainly unchanged since a revision. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gatewall.kernel.changes import Resource


@dataclass(slots=True)
class ChangeHistory:
    """Last change of each row, resource and setting from revision ``known_from`` to ``newest``.

    Outside that range everything counts as changed.
    """

    known_from: int
    newest: int
    _rows: dict[tuple[str, int], int] = field(default_factory=dict)
    _resources: dict[str, int] = field(default_factory=dict)
    _unlisted: dict[str, int] = field(default_factory=dict)
    _settings: dict[str, int] = field(default_factory=dict)
    _values: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, revision: int, changes: Iterable[Mapping[str, Any]] | None, counts: Any) -> None:
        """Add a revision's change record; call in revision order."""
        for count in [{"resource": each} for each in Resource] if counts is None else counts:
            self._resources[count["resource"]] = revision
            if changes is None:  # too many to be listed: any row may have changed
                self._unlisted[count["resource"]] = revision
        for change in changes or ():
            self._rows[change["resource"], change["id"]] = revision
            if change["resource"] == Resource.SETTINGS:
                values = [*change["before"].items(), *change["after"].items()]
                self._settings.update(dict.fromkeys([name for name, _ in values], revision))
                self._values.update({(name, value): revision for name, value in values if isinstance(value, str)})

    def row_is_as_of(self, revision: int, resource: Resource, row_id: int) -> bool:
        """True if the row is certainly unchanged since this revision."""
        return self._is_unchanged(revision, self._unlisted.get(resource), self._rows.get((resource, row_id)))

    def resource_is_as_of(self, revision: int, resource: Resource) -> bool:
        """True if all rows of the resource are certainly unchanged since this revision."""
        return self._is_unchanged(revision, self._resources.get(resource))

    def setting_is_as_of(self, revision: int, name: str) -> bool:
        """True if the setting is certainly unchanged since this revision."""
        return self._is_unchanged(revision, self._unlisted.get(Resource.SETTINGS), self._settings.get(name))

    def setting_was_never(self, revision: int, name: str, value: str) -> bool:
        """True if the setting certainly never had this value since this revision; it must have another one now."""
        return self._is_unchanged(revision, self._unlisted.get(Resource.SETTINGS), self._values.get((name, value)))

    def _is_unchanged(self, revision: int, *changed: int | None) -> bool:
        if not self.known_from <= revision <= self.newest:
            return False
        return all(last is None or last <= revision for last in changed)
