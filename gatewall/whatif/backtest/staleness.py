"""Detect stale proposals: whether rows that a proposal changes were changed since a revision."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from django.db.models import Q

from gatewall.kernel.changes import Resource
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from gatewall.whatif.backtest.drafts import KINDS, Draft
from gatewall.whatif.backtest.proposals import Changes, Proposal, Restore, WholeDocument
from gatewall.whatif.change_histories import MAX_REVISIONS
from policies.document.sections import BY_NAME, SETTINGS
from policies.models import MANUAL, RESTORABLE, BlocklistEntry


@dataclass(frozen=True, slots=True)
class Touched:
    """The rows, by resource and id, and the whole resources that a proposal changes."""

    rows: frozenset[tuple[str, int | None]] = frozenset()
    resources: frozenset[str] = frozenset()

    @property
    def all_resources(self) -> frozenset[str]:
        return self.resources | {resource for resource, _ in self.rows}

    def has(self, change: Mapping[str, Any]) -> bool:
        """Return whether a change of a revision is about these rows or resources."""
        key = change["resource"], None if _is_single(change["resource"]) else change["id"]
        if key in self.rows:
            return True
        return change["resource"] in self.resources and not _is_automatic(_source_of(change))

    def may_have(self, counts: list[dict[str, Any]] | None) -> bool:
        """Return whether a revision with these counts, whose changes are not listed, may be about these."""
        if counts is None:
            return True
        named = {each["resource"] for each in counts if not _is_automatic(each.get("source"))}
        return not named.isdisjoint(self.resources) or any(each["resource"] in self._row_resources for each in counts)

    @property
    def _row_resources(self) -> frozenset[str]:
        return frozenset(resource for resource, _ in self.rows)


def touched_by(proposal: Proposal) -> Touched:
    """Return the existing rows and the resources that a proposal changes."""
    match proposal:
        case Draft():
            return Touched(rows=frozenset(_rows((proposal,))))
        case Changes():
            return Touched(rows=frozenset(_rows(proposal.drafts)))
        case WholeDocument():
            return Touched(resources=frozenset(map(_resource_of, proposal.sections)))
        case Restore():
            return Touched(resources=frozenset({Resource.SETTINGS, *(each.recorded.resource for each in RESTORABLE)}))
        case _:
            assert_never(proposal)


def may_have_changed(proposal: Proposal, revision: int) -> bool:
    """Return whether rows that the proposal changes may have changed since this revision.

    For whole resources, automatic bans and downloads of lists do not count: they change no row of an operator.
    """
    touched = touched_by(proposal)
    if not touched.all_resources:
        return False
    since = PolicyRevision.objects.filter(number__gt=revision)
    passed = revisions.current().revision - revision
    if passed > MAX_REVISIONS or since.count() != passed:
        return True
    about = Q(counts__isnull=True)
    for resource in touched.all_resources:
        about |= Q(resources__contains=f" {resource} ")
    return any(
        touched.may_have(counts) if changes is None else any(map(touched.has, changes))
        for changes, counts in since.filter(about).values_list("changes", "counts").iterator(chunk_size=20)
    )


def _resource_of(section: str) -> str:
    return Resource.SETTINGS if section == SETTINGS else BY_NAME[section].model.recorded.resource


def _rows(drafts: tuple[Draft, ...]) -> Iterator[tuple[str, int | None]]:
    for draft in drafts:
        if draft.id is not None or _is_single(draft.resource):
            yield draft.resource, draft.id


def _is_single(resource: str) -> bool:
    return resource in KINDS and KINDS[resource].is_single


def _source_of(change: Mapping[str, Any]) -> str | None:
    """Return the source of a changed blocklist entry, None for others. The change has only the fields that differ."""
    named: str | None = change["after"].get("source") or change["before"].get("source")
    if named or change["resource"] != Resource.BLOCKLIST:
        return named
    return BlocklistEntry.objects.filter(pk=change["id"]).values_list("source", flat=True).first()


def _is_automatic(source: str | None) -> bool:
    """Return whether entries of this source are made and deleted automatically: bans and those of lists."""
    return source not in {None, "", MANUAL}
