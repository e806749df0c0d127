"""Reconstruct policy objects at an earlier revision by undoing recorded changes. Read-only."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Q, QuerySet

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.changes import Action, Resource
from gatewall.kernel.refusals import Conflict
from gatewall.models import PolicyRevision
from policies.models import AUTO_BAN, RESTORABLE, AuthorizedDomain

_RESTORED = frozenset({Resource.SETTINGS, *(model.recorded.resource for model in RESTORABLE)})
_MAX_REVISIONS = 100_000


class CannotRestore(Conflict):
    """The policy cannot be restored: its changes are not fully recorded, or the result would not be valid."""

    code = "cannot-restore"


class Past:
    """The changed objects as they were at an earlier revision, by resource and id.

    ``objects`` has None for an object that did not exist, else the fields that differed. ``whole`` has the objects
    whose fields are all known, because they were deleted since. Domains are referenced by id: names may have changed.
    With ``last``, only the revisions up to it are undone, with automatic bans (``is_part``). ``became`` then has the
    values that these revisions set: a field with another value now was changed later, and is not undone.
    """

    resources = _RESTORED

    def __init__(self, head: int, number: int, last: int | None = None) -> None:
        """Undo each revision from the head, or ``last``, down to the one after ``number``. Raises CannotRestore."""
        self.is_part = last is not None
        self._last = head if last is None else last
        self.objects: dict[tuple[str, int], dict[str, Any] | None] = {}
        self.whole: set[tuple[str, int]] = set()
        self.became: dict[tuple[str, int], dict[str, Any]] = {}
        self._automatic_bans: set[tuple[str, int]] = set()  # automatic bans are never restored
        self._domains = dict(AuthorizedDomain.objects.values_list("name", "pk"))
        self._names = {id_: name for name, id_ in self._domains.items()}
        self._undo_all(head, number)

    def _undo_all(self, head: int, number: int) -> None:
        between = PolicyRevision.objects.filter(number__gt=number, number__lte=head)
        if between.count() != head - number:
            raise CannotRestore(_("revision %(number)s is not recorded"), number=_missing(between, head))
        # Revisions of users and tokens, which may be many, are not read.
        touching = Q(changes__isnull=True)
        for resource in self.resources:
            touching |= Q(resources__contains=f" {resource} ")
        chosen = between.filter(touching).order_by("-number")
        if chosen.count() > _MAX_REVISIONS:
            raise CannotRestore(_("more than %(number)s revisions would have to be undone"), number=_MAX_REVISIONS)
        for revision in chosen.iterator(chunk_size=200):
            if revision.number > self._last:
                self._undo_renames(revision)
            else:
                self._undo_revision(revision)

    def _undo_renames(self, revision: PolicyRevision) -> None:
        """Undo only the renames of domains in a revision that is not undone otherwise."""
        changes = revision.changes or []
        self._undo_domains([change for change in changes if change["resource"] == Resource.DOMAINS])

    def _undo_revision(self, revision: PolicyRevision) -> None:
        if revision.changes is None:
            _refuse_unknown(revision)
            return
        changes = [change for change in revision.changes if change["resource"] in _RESTORED]
        # Domains first: other objects refer to them by their names at that time.
        domains = [change for change in changes if change["resource"] == Resource.DOMAINS]
        if self.is_part:
            self._note_values_set(changes)
        self._undo_domains(domains)
        for change in changes:
            fields = dict(change["before"])
            if fields.get("domain") is not None:
                fields["domain"] = self._domain(fields["domain"], revision.number)
            self._undo(change, fields)

    def _note_values_set(self, changes: list[dict[str, Any]]) -> None:
        """Keep the newest values that the undone revisions have set."""
        for change in changes:
            if change["action"] != Action.CHANGED:
                continue
            after = dict(change["after"])
            if after.get("domain") is not None:
                after["domain"] = self._domains.get(after["domain"])
            known = self.became.setdefault((change["resource"], change["id"]), {})
            known |= {name: value for name, value in after.items() if name not in known}

    def _undo_domains(self, changes: list[dict[str, Any]]) -> None:
        for change in changes:
            if change["action"] != Action.DELETED and "name" in change["after"]:
                self._domains.pop(self._names.pop(change["id"], ""), None)
        for change in changes:
            if change["action"] != Action.CREATED and "name" in change["before"]:
                self._names[change["id"]] = change["before"]["name"]
                self._domains[change["before"]["name"]] = change["id"]

    def _undo(self, change: Mapping[str, Any], fields: dict[str, Any]) -> None:
        key = change["resource"], change["id"]
        if not self.is_part and AUTO_BAN in (change["before"].get("source"), change["after"].get("source")):
            self._automatic_bans.add(key)
            self.objects.pop(key, None)
        elif key in self._automatic_bans:
            pass
        elif change["after"].get("builtin") and change["action"] == Action.CREATED:
            pass  # built-in rules are never removed
        else:
            self._undo_one(change, fields)

    def _undo_one(self, change: Mapping[str, Any], fields: dict[str, Any]) -> None:
        key = change["resource"], change["id"]
        if change["action"] == Action.CREATED:
            self.objects[key] = None
            self.whole.discard(key)
        elif change["action"] == Action.DELETED:
            self.objects[key] = fields
            self.whole.add(key)
        else:
            self.objects[key] = {**(self.objects.get(key) or {}), **fields}

    def _domain(self, name: str, number: int) -> int:
        if name not in self._domains:
            raise CannotRestore(
                _("revision %(number)s names the domain %(domain)s, whose content is not recorded"),
                number=number,
                domain=name,
            )
        return self._domains[name]


def _refuse_unknown(revision: PolicyRevision) -> None:
    if revision.counts is None:
        raise CannotRestore(_("revision %(number)s was made before changes were recorded"), number=revision.number)
    for count in revision.counts:
        if count["resource"] in _RESTORED and count.get("source") != AUTO_BAN:
            raise CannotRestore(
                _("revision %(number)s changed too much to be recorded in full"), number=revision.number
            )


def _missing(between: QuerySet[PolicyRevision], head: int) -> int:
    """Return the newest missing revision."""
    expected = head
    for number in between.order_by("-number").values_list("number", flat=True).iterator(chunk_size=1000):
        if number != expected:
            break
        expected -= 1
    return expected
