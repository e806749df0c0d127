"""Which policy rows have changed since a revision. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gatewall.kernel.changes import Resource


@dataclass(slots=True)
class ChangeHistory:
    """The last change of each row, resource and setting behind revision ``known_from``, up to ``newest``.

    Of what was before, and of revisions that are not of this history, nothing is known: then
    everything counts as changed.
    """

    known_from: int
    newest: int
    _rows: dict[tuple[str, int], int] = field(default_factory=dict)
    _resources: dict[str, int] = field(default_factory=dict)
    _unlisted: dict[str, int] = field(default_factory=dict)
    _settings: dict[str, int] = field(default_factory=dict)

    def add(self, revision: int, changes: Iterable[Mapping[str, Any]] | None, counts: Any) -> None:
        """Add what a revision says of itself; the revisions come in their order."""
        for count in [{"resource": each} for each in Resource] if counts is None else counts:
            self._resources[count["resource"]] = revision
            if changes is None:  # too many to be listed: it may have been any
                self._unlisted[count["resource"]] = revision
        for change in changes or ():
            self._rows[change["resource"], change["id"]] = revision
            if change["resource"] == Resource.SETTINGS:
                self._settings.update(dict.fromkeys([*change["before"], *change["after"]], revision))

    def row_is_as_of(self, revision: int, resource: Resource, row_id: int) -> bool:
        """True if this row is surely what it was in this revision."""
        return self._is_quiet(revision, self._unlisted.get(resource), self._rows.get((resource, row_id)))

    def resource_is_as_of(self, revision: int, resource: Resource) -> bool:
        """True if every row of this resource is surely what it was in this revision."""
        return self._is_quiet(revision, self._resources.get(resource))

    def setting_is_as_of(self, revision: int, name: str) -> bool:
        """True if this setting surely has the value that it had in this revision."""
        return self._is_quiet(revision, self._unlisted.get(Resource.SETTINGS), self._settings.get(name))

    def _is_quiet(self, revision: int, *changed: int | None) -> bool:
        if not self.known_from <= revision <= self.newest:
            return False
        return all(last is None or last <= revision for last in changed)
