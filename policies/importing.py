"""Imports of block lists: all entries of one source are replaced at once."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice, repeat
from typing import Any, BinaryIO

from django.db import connection
from django.utils import timezone

from gatewall import revisions
from gatewall.changes import MAX_CHANGES, Action, Change, Described, Resource, difference
from gatewall.clientip import TrustedProxies
from gatewall.engine.addresses import canonical_text, parse_network
from gatewall.engine.segments import blocked_networks_of
from policies import rows
from policies.block_lists import Format, Listed, ListRefused, Ranges, read_list
from policies.list_diff import Entry, ListDiff, Row
from policies.models import BlocklistEntry

MAX_ENTRIES = 1_000_000
ACTOR = "import"
"""Who made the entries and the revision."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,49}", re.ASCII)
_SHORTEST_PREFIX = {4: 8, 6: 19}
_BATCH = 500
_EXAMPLES = 10
_IPV4 = ("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12")
_IPV4_TOO = ("192.168.0.0/16", "224.0.0.0/3")
_IPV6 = ("::/127", "fc00::/7", "fe80::/10", "ff00::/8")
_NOBODY_OUTSIDE = Ranges(map(parse_network, (*_IPV4, *_IPV4_TOO, *_IPV6)))
"""Loopback, private, link-local and shared addresses, and those that no client has: bogons of a list, not attackers."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import does, or would do: how many entries, and some of them as examples."""

    added: int
    removed: int
    changed: int
    kept: int
    dropped: dict[str, int] = field(default_factory=dict)
    examples: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """True if the list is not what is there already."""
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True)
class ImportRules:
    """What holds for the entries of a list: when they expire if they do not say, and which are left out."""

    at: datetime
    trusted: TrustedProxies
    expires_at: datetime | None = None
    force: bool = False


def source_named(name: str) -> str:
    """Return the source of the list of this name. Raises ListRefused."""
    if not _NAME.fullmatch(name):
        raise ListRefused("a name has letters, digits, '.', '_' and '-', at most 50")
    return f"import:{name}"


def import_list(
    file: BinaryIO, *, name: str, rules: ImportRules, kind: Format = Format.AUTO, dry_run: bool = False
) -> Imported:
    """Put this list in the place of all that was imported under the name, in one revision, or in none if it is equal.

    The list is read to its end before anything is written. Raises ListRefused.
    """
    source = source_named(name)
    with ListDiff() as diff:
        dropped = _read(file, kind, rules, diff)
        if dry_run:
            diff.there_is(_rows_of(source))
            return _outcome(diff, dropped)
        return _replace(source, diff, dropped)


@revisions.one_at_a_time
def remove_list(name: str) -> int:
    """Take everything of this name off the blocklist; return how many entries there were. Raises ListRefused."""
    source = source_named(name)
    entries = BlocklistEntry.objects.filter(source=source)
    count = entries.count()
    if count:
        whole = count <= MAX_CHANGES
        gone = [rows.deletion(entry) for entry in entries] if whole else _counted_only(source, Action.DELETED, count)
        entries.delete()
        revisions.advance(blocked_networks_of(source), actor=ACTOR, changes=gone)
    return count


def _read(file: BinaryIO, kind: Format, rules: ImportRules, diff: ListDiff) -> dict[str, int]:
    """Note the entries that count; return how many were dropped, by why. Raises ListRefused."""
    trusted = Ranges(rules.trusted.networks)
    dropped: Counter[str] = Counter()
    wanted = 0
    for listed in read_list(file, kind):
        why = _dropped_for(listed, rules, trusted)
        if why is None and not diff.want(_entry(listed, rules)):
            why = "there twice"
        if why is not None:
            dropped[why] += 1
            continue
        wanted += 1
        if wanted > MAX_ENTRIES:
            raise ListRefused(f"line {listed.line}: the list has more than {MAX_ENTRIES:,} entries")
    if not wanted:
        raise ListRefused("the list has no entry that counts: to take it away, say --remove")
    return dict(dropped)


def _dropped_for(listed: Listed, rules: ImportRules, trusted: Ranges) -> str | None:
    """Return why an entry is left out, None if it is not. Raises ListRefused for one that is too large."""
    network = listed.network
    if _NOBODY_OUTSIDE.cover(network):
        return "loopback, private or reserved"
    if not rules.force and network.prefixlen < _SHORTEST_PREFIX[network.version]:
        raise ListRefused(
            f"line {listed.line}: {network} is larger than /{_SHORTEST_PREFIX[network.version]}; --force takes it"
        )
    if _NOBODY_OUTSIDE.overlaps(network):
        return "loopback, private or reserved"
    if trusted.overlaps(network):
        return "a trusted proxy"
    if listed.expires_at is not None and listed.expires_at <= rules.at.timestamp():
        return "expired"
    return None


def _entry(listed: Listed, rules: ImportRules) -> Entry:
    expires_at = listed.expires_at
    if expires_at is None and rules.expires_at is not None:
        expires_at = int(rules.expires_at.timestamp())
    return canonical_text(listed.network), expires_at, listed.comment


@revisions.one_at_a_time
def _replace(source: str, diff: ListDiff, dropped: dict[str, int]) -> Imported:
    diff.there_is(_rows_of(source))
    outcome = _outcome(diff, dropped)
    if outcome.changes:
        recorded = _Recorded(source, diff, outcome)
        _delete(id_ for id_, _ in diff.removed())
        _change(diff.changed())
        _insert(source, diff.added())
        revisions.advance(blocked_networks_of(source), actor=ACTOR, changes=recorded.changes())
    return outcome


class _Recorded:
    """What the revision says of an import: each entry as it was and is, or numbers where they are too many."""

    def __init__(self, source: str, diff: ListDiff, outcome: Imported) -> None:
        """Made before the rows are written."""
        self._source = source
        self._outcome = outcome
        self._networks: list[str] = []
        if outcome.added + outcome.removed + outcome.changed <= MAX_CHANGES:
            self._networks = [network for network, *_ in diff.added()]
            self._networks += [network for _, network in diff.removed()]
            self._networks += [network for _, network, *_ in diff.changed()]
        self._before = self._described()

    def changes(self) -> Iterator[Change | None]:
        """Yield what became of each entry, once the rows are written."""
        if not self._networks:
            yield from _counted_only(self._source, Action.CREATED, self._outcome.added)
            yield from _counted_only(self._source, Action.CHANGED, self._outcome.changed)
            yield from _counted_only(self._source, Action.DELETED, self._outcome.removed)
            return
        after = self._described()
        for id_ in sorted({*self._before, *after}):
            yield difference(self._before.get(id_), after.get(id_))

    def _described(self) -> dict[int, Described]:
        networks = iter(self._networks)
        found: dict[int, Described] = {}
        while batch := list(islice(networks, _BATCH)):
            entries = BlocklistEntry.objects.filter(source=self._source, network__in=batch)
            found |= {entry.pk: rows.described(entry) for entry in entries}
        return found


def _counted_only(source: str, action: Action, count: int) -> Iterator[Change]:
    """Yield that many changes that say no more than their source: a revision of so many keeps numbers alone."""
    named = {} if action is Action.CHANGED else {"source": source}
    return repeat(Change(Resource.BLOCKLIST, 0, "", action, {}, named), count)


def _rows_of(source: str) -> Iterator[Row]:
    found = BlocklistEntry.objects.filter(source=source).values_list("id", "network", "expires_at", "remark")
    for id_, network, expires_at, remark in found.iterator():
        yield id_, network, None if expires_at is None else int(expires_at.timestamp()), remark


def _outcome(diff: ListDiff, dropped: dict[str, int]) -> Imported:
    added, first_added = _counted(f"+ {network}" for network, *_ in diff.added())
    removed, first_removed = _counted(f"- {network}" for _, network in diff.removed())
    changed, first_changed = _counted(f"~ {network}" for _, network, *_ in diff.changed())
    examples = (*first_added, *first_removed, *first_changed)
    return Imported(added, removed, changed, diff.kept(), dropped, examples)


def _counted(lines: Iterator[str]) -> tuple[int, list[str]]:
    first = list(islice(lines, _EXAMPLES))
    return len(first) + sum(1 for _ in lines), first


def _delete(ids: Iterator[int]) -> None:
    while batch := list(islice(ids, _BATCH)):
        BlocklistEntry.objects.filter(pk__in=batch).delete()


def _change(changed: Iterator[Row]) -> None:
    while batch := list(islice(changed, _BATCH)):
        entries = [
            BlocklistEntry(pk=id_, expires_at=_moment(expires_at), remark=remark)
            for id_, _, expires_at, remark in batch
        ]
        BlocklistEntry.objects.bulk_update(entries, ["expires_at", "remark"])


def _insert(source: str, entries: Iterable[Entry]) -> None:
    """Write the rows as ``bulk_create`` would, in a fifth of the time: all other writers wait meanwhile."""
    names = ("created_at", "created_by", "network", "remark", "expires_at", "source")
    fields: list[Any] = [BlocklistEntry._meta.get_field(name) for name in names]  # noqa: SLF001 - public by its documentation
    quote = connection.ops.quote_name
    columns = ", ".join(quote(each.column) for each in fields)
    table = quote(BlocklistEntry._meta.db_table)  # noqa: SLF001 - the same
    now = timezone.now()
    values = (
        [
            each.get_db_prep_save(value, connection)
            for each, value in zip(fields, (now, ACTOR, network, remark, _moment(expires_at), source), strict=True)
        ]
        for network, expires_at, remark in entries
    )
    with connection.cursor() as cursor:
        sql = f"INSERT INTO {table} ({columns}) VALUES ({', '.join(['%s'] * len(names))})"  # noqa: S608 - our own names
        cursor.executemany(sql, values)


def _moment(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, tz=UTC)
