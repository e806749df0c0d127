"""Values of policy rows as of an earlier revision: undo every recorded change that decides requests. Read-only.

Unlike a restore, this includes automatic bans, users, git tokens, app tokens, licenses and built-in rules.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.changes import Action, Resource, ids_of
from gatewall.models import PolicyRevision
from policies.history.undo import CannotRestore, Past
from policies.models import MANUAL, AuthorizedDomain, Group

_NAMED_BY = {"authorized_domains": Resource.DOMAINS, "groups": Resource.GROUPS}
"""Recorded fields with the names of rows, and the resource of these rows."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """An imported source of the blocklist whose entries this revision changed without recording them in full."""

    revision: int
    source: str

    def as_json(self) -> dict[str, Any]:
        return {"revision": self.revision, "resource": Resource.BLOCKLIST.value, "source": self.source}


class EverythingBefore(Past):
    """All changed objects as they were at an earlier revision; see ``Past``.

    Names of domains and groups in a scope are resolved to ids, as ``<field>_ids``. ``unknown`` lists imported sources
    of the blocklist that cannot be undone; their entries are left out of ``objects`` where the source is recorded.
    """

    resources = Past.resources | {
        Resource.USERS,
        Resource.GIT_TOKENS,
        Resource.APP_TOKENS,
        Resource.LICENSES,
        Resource.SHARE_LINKS,
        Resource.DEVICE_PASSES,
        Resource.SUBSCRIPTIONS,
    }

    def __init__(self, head: int, number: int) -> None:
        """Undo every revision from the head down to the one after ``number``. Raises CannotRestore."""
        self.unknown: dict[str, Unknown] = {}
        self._ids = {
            Resource.DOMAINS: dict(AuthorizedDomain.objects.values_list("name", "pk")),
            Resource.GROUPS: dict(Group.objects.values_list("name", "pk")),
        }
        super().__init__(head, number)

    def _undo_revision(self, revision: PolicyRevision) -> None:
        if revision.changes is None:
            self._note_unknown(revision)
            return
        after = {resource: dict(ids) for resource, ids in self._ids.items()}
        for resource, ids in self._ids.items():
            _rename([change for change in revision.changes if change["resource"] == resource], ids)
        for change in revision.changes:
            if change["resource"] in self.resources:
                self._undo_one(change, self._with_ids(change, revision.number, after))

    def _with_ids(
        self, change: Mapping[str, Any], number: int, after: Mapping[Any, Mapping[str, int]]
    ) -> dict[str, Any]:
        """Return the fields before the change, with the ids of the rows they name."""
        fields = dict(change["before"])

        def id_of(resource: Resource, name: str) -> int:
            # A name that the same revision gave is in the table after it.
            found = self._ids[resource].get(name, after[resource].get(name))
            if found is None:
                words = _("revision %(number)s names %(resource)s %(name)s, whose content is not recorded")
                raise CannotRestore(words, number=number, resource=resource.value, name=name)
            return found

        if fields.get("domain") is not None:
            fields["domain"] = id_of(Resource.DOMAINS, fields["domain"])
        for field, resource in _NAMED_BY.items():
            if field in fields and ids_of(field) not in fields:
                fields[ids_of(field)] = [id_of(resource, name) for name in fields[field]]
        return fields

    def _note_unknown(self, revision: PolicyRevision) -> None:
        """Note which imported lists the revision changed. Raises CannotRestore if it changed anything else."""
        if revision.counts is None:
            raise CannotRestore(_("revision %(number)s was made before changes were recorded"), number=revision.number)
        for count in revision.counts:
            source = count.get("source", MANUAL)
            if count["resource"] == Resource.BLOCKLIST and source != MANUAL:
                self.unknown.setdefault(source, Unknown(revision.number, source))
            elif count["resource"] in self.resources:
                raise CannotRestore(
                    _("revision %(number)s changed too much to be recorded in full"), number=revision.number
                )


def _rename(changes: list[Mapping[str, Any]], ids: dict[str, int]) -> None:
    """Rename the keys of ``ids``, which are names of rows, to the names before these changes."""
    names = {id_: name for name, id_ in ids.items()}
    for change in changes:
        if change["action"] != Action.DELETED and "name" in change["after"]:
            ids.pop(names.get(change["id"], ""), None)
    for change in changes:
        if change["action"] != Action.CREATED and "name" in change["before"]:
            ids[change["before"]["name"]] = change["id"]
