"""Import block lists: replace all entries of one source at once."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice, repeat
from typing import BinaryIO

from gatewall.engine.addresses import canonical_text, parse_network
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.segments import blocked_networks_of
from gatewall.kernel.changes import MAX_CHANGES, Action, Change, Described, Resource, describe, difference
from gatewall.kernel.clientip import Caller, TrustedProxies
from gatewall.policy import revisions
from policies import rows
from policies.history.lockout import kept_in
from policies.list_files.block_lists import BadLine, Format, Listed, ListRefused, Ranges, read_list, source_named
from policies.list_files.diff import Entry, ListDiff
from policies.lists import rows as list_rows
from policies.models import BlocklistEntry

MAX_ENTRIES = 1_000_000
ACTOR = "import"
"""Who made the entries and the revision, if no person did."""
_SHORTEST_PREFIX = {4: 8, 6: 19}
_BATCH = 500
_EXAMPLES = 10
_BAD_IN = 100
"""One line in so many may be none that is understood."""
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
    bad: int = 0
    bad_lines: tuple[str, ...] = ()

    @property
    def before(self) -> int:
        """How many entries there were."""
        return self.removed + self.changed + self.kept

    @property
    def after(self) -> int:
        """How many entries there are then."""
        return self.added + self.changed + self.kept

    @property
    def changes(self) -> bool:
        """True if the list is not what is there already."""
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True)
class ImportRules:
    """What holds for the entries of a list: when they expire if they do not say, and which are left out.

    ``force`` takes networks of any size, and a list that lost more than half of its entries.
    """

    at: datetime
    trusted: TrustedProxies
    expires_at: datetime | None = None
    force: bool = False


@dataclass(frozen=True, slots=True)
class Importer:
    """Who imports a list, and from where, if it is a person whom the list must not shut out."""

    actor: str = ACTOR
    caller: Caller | None = None


BY_ITSELF = Importer()


def import_list(
    file: BinaryIO,
    *,
    name: str,
    rules: ImportRules,
    kind: Format = Format.AUTO,
    dry_run: bool = False,
    by: Importer = BY_ITSELF,
    still_wanted: Callable[[], bool] = lambda: True,
) -> Imported:
    """Put this list in the place of all that was imported under the name, in one revision, or in none if it is equal.

    The list is read to its end before anything is written; whether it is ``still_wanted`` is asked when nobody else
    can write any more. Raises ListRefused, WouldLockYouOut.
    """
    source = source_named(name)
    with ListDiff() as diff:
        seen = _read(file, kind, rules, diff)
        if dry_run:
            diff.there_is(list_rows.rows_of(source))
            return _outcome(diff, seen, rules)
        return _replace(source, diff, seen, rules, still_wanted, by)


@revisions.one_at_a_time
def remove_list(name: str) -> int:
    """Take everything of this name off the blocklist; return how many entries there were. Raises ListRefused."""
    source = source_named(name)
    count, gone = remove_entries(source)
    if count:
        revisions.advance(blocked_networks_of(source), actor=ACTOR, changes=gone)
    return count


def remove_entries(source: str) -> tuple[int, Iterable[Change | None]]:
    """Delete the entries of a source, for a service that makes the revision; return how many and their changes."""
    entries = BlocklistEntry.objects.filter(source=source)
    count = entries.count()
    whole = count <= MAX_CHANGES
    gone = [rows.deletion(entry) for entry in entries] if whole else _counted_only(source, Action.DELETED, count)
    entries.delete()
    return count, gone


@dataclass(slots=True)
class _Seen:
    """What of a list was left out: dropped by why, and lines that are no entries, the first of them in words."""

    dropped: Counter[str] = field(default_factory=Counter)
    bad: int = 0
    bad_lines: list[str] = field(default_factory=list)

    def note(self, bad: BadLine) -> None:
        """Count a line; a list of nothing but such lines is not read to its end."""
        self.bad += 1
        if len(self.bad_lines) < _EXAMPLES:
            self.bad_lines.append(bad.message)
        if self.bad > MAX_ENTRIES // _BAD_IN:
            self.refuse_above(0)

    def refuse_above(self, entries: int) -> None:
        """Raise ListRefused if there are too many such lines for so many entries."""
        if self.bad * _BAD_IN > self.bad + entries:
            raise ListRefused(
                _("%(why)s (%(number)s such lines, more than one in %(share)s)"),
                why=self.bad_lines[0],
                number=f"{self.bad:,}",
                share=_BAD_IN,
            )


def _read(file: BinaryIO, kind: Format, rules: ImportRules, diff: ListDiff) -> _Seen:
    """Note the entries that count; return what else was seen. Raises ListRefused."""
    trusted = Ranges(rules.trusted.networks)
    seen, wanted = _Seen(), 0
    for listed in read_list(file, kind):
        if isinstance(listed, BadLine):
            seen.note(listed)
            continue
        why = dropped_for(listed, rules, trusted)
        if why is None and not diff.want(_entry(listed, rules)):
            why = _("there twice")
        if why is not None:
            seen.dropped[why] += 1
            continue
        wanted += 1
        if wanted > MAX_ENTRIES:
            raise ListRefused(
                _("line %(line)s: the list has more than %(number)s entries"),
                line=listed.line,
                number=f"{MAX_ENTRIES:,}",
            )
    seen.refuse_above(wanted + seen.dropped.total())
    if not wanted:
        raise ListRefused(_("the list has no entry that counts: to take it away, say --remove"))
    return seen


def dropped_for(listed: Listed, rules: ImportRules, trusted: Ranges) -> str | None:
    """Return why an entry is left out, None if it is not. Raises ListRefused for one that is too large."""
    network = listed.network
    if _NOBODY_OUTSIDE.cover(network):
        return _("loopback, private or reserved")
    if not rules.force and network.prefixlen < _SHORTEST_PREFIX[network.version]:
        raise ListRefused(
            _("line %(line)s: %(network)s is larger than /%(prefix)s; --force takes it"),
            line=listed.line,
            network=network,
            prefix=_SHORTEST_PREFIX[network.version],
        )
    if _NOBODY_OUTSIDE.overlaps(network):
        return _("loopback, private or reserved")
    if trusted.overlaps(network):
        return _("a trusted proxy")
    if listed.expires_at is not None and listed.expires_at <= rules.at.timestamp():
        return _("expired")
    return None


def _entry(listed: Listed, rules: ImportRules) -> Entry:
    expires_at = listed.expires_at
    if expires_at is None and rules.expires_at is not None:
        expires_at = int(rules.expires_at.timestamp())
    return canonical_text(listed.network), expires_at, listed.comment


@revisions.one_at_a_time
def _replace(
    source: str, diff: ListDiff, seen: _Seen, rules: ImportRules, still_wanted: Callable[[], bool], by: Importer
) -> Imported:
    if not still_wanted():
        raise ListRefused(_("nobody wants it any more"))
    diff.there_is(list_rows.rows_of(source))
    outcome = _outcome(diff, seen, rules)
    if outcome.changes:
        recorded = _Recorded(source, diff, outcome)
        with kept_in(by.caller, force=False):
            list_rows.delete(id_ for id_, _ in diff.removed())
            list_rows.change(diff.changed())
            list_rows.insert(source, by.actor, diff.added())
            revisions.advance(blocked_networks_of(source), actor=by.actor, changes=recorded.changes())
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
            found |= {entry.pk: describe(entry) for entry in entries}
        return found


def _counted_only(source: str, action: Action, count: int) -> Iterator[Change]:
    """Yield that many changes that say no more than their source: a revision of so many keeps numbers alone."""
    named = {} if action is Action.CHANGED else {"source": source}
    return repeat(Change(Resource.BLOCKLIST, 0, "", action, {}, named), count)


def _outcome(diff: ListDiff, seen: _Seen, rules: ImportRules) -> Imported:
    """Return what the import does. Raises ListRefused for a list that is the rest of one."""
    added, first_added = _counted(f"+ {network}" for network, *_ in diff.added())
    removed, first_removed = _counted(f"- {network}" for _, network in diff.removed())
    changed, first_changed = _counted(f"~ {network}" for _, network, *_ in diff.changed())
    examples = (*first_added, *first_removed, *first_changed)
    outcome = Imported(
        added, removed, changed, diff.kept(), dict(seen.dropped), examples, seen.bad, tuple(seen.bad_lines)
    )
    if outcome.after * 2 < outcome.before and not rules.force:
        raise ListRefused(
            _("it has %(after)s entries where there were %(before)s, less than half; --force takes it"),
            after=f"{outcome.after:,}",
            before=f"{outcome.before:,}",
        )
    return outcome


def _counted(lines: Iterator[str]) -> tuple[int, list[str]]:
    first = list(islice(lines, _EXAMPLES))
    return len(first) + sum(1 for _ in lines), first
