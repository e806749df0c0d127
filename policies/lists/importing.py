"""Import block lists: replace all entries of one source in one revision."""

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
from policies.history.lockout import guard_against_lockout
from policies.list_files.diff import Entry, ListDiff
from policies.list_files.parsing import (
    BadLine,
    Format,
    ListDoubtful,
    Listed,
    ListRefused,
    Ranges,
    read_list,
    source_named,
)
from policies.lists import rows as list_rows
from policies.models import BlocklistEntry

MAX_ENTRIES = 1_000_000
ACTOR = "import"
"""Actor of entries and revisions of an unattended import."""
_SHORTEST_PREFIX = {4: 8, 6: 19}
_EXAMPLES = 10
_LINES_PER_BAD_LINE = 100
"""A list is refused if more than one in this number of lines is invalid."""
_BOGONS = Ranges(
    parse_network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.168.0.0/16", "224.0.0.0/3", "::/127", "fc00::/7", "fe80::/10", "ff00::/8"),
    )
)
"""Addresses that no client from the Internet has: loopback, private, link-local, shared, reserved (bogons)."""


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import or its dry run: counts of entries, and examples."""

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
        return self.removed + self.changed + self.kept

    @property
    def after(self) -> int:
        return self.added + self.changed + self.kept

    @property
    def changes(self) -> int:
        return self.added + self.removed + self.changed


@dataclass(frozen=True, slots=True)
class ImportRules:
    """Default expiry and filters of the entries of a list.

    ``force`` accepts networks of any size, and a list that lost more than half of its entries.
    """

    at: datetime
    trusted: TrustedProxies
    expires_at: datetime | None = None
    force: bool = False


def import_list(
    file: BinaryIO,
    *,
    name: str,
    rules: ImportRules,
    kind: Format = Format.AUTO,
    dry_run: bool = False,
    actor: str = ACTOR,
    caller: Caller | None = None,
    still_wanted: Callable[[], bool] = lambda: True,
) -> Imported:
    """Replace all entries of the list of this name, in one revision, or none if nothing changes.

    The list is read completely before anything is written; ``still_wanted`` is called under the lock.
    Raises ListRefused, WouldLockYouOut.
    """
    source = source_named(name)
    with ListDiff() as diff:
        skipped = _read(file, kind, rules, diff)
        if dry_run:
            diff.load_existing(list_rows.rows_of(source))
            return _outcome(diff, skipped, rules)
        return _replace(source, diff, skipped, rules, still_wanted, actor, caller)


@revisions.one_at_a_time
def remove_list(name: str) -> int:
    """Delete all entries of the list of this name; return how many. Raises ListRefused."""
    source = source_named(name)
    count, gone = remove_entries(source)
    if count:
        revisions.advance(blocked_networks_of(source), actor=ACTOR, changes=gone)
    return count


def remove_entries(source: str) -> tuple[int, Iterable[Change | None]]:
    """Delete the entries of a source, for a service that creates the revision; return their number and the changes."""
    entries = BlocklistEntry.objects.filter(source=source)
    count = entries.count()
    whole = count <= MAX_CHANGES
    gone = [rows.deletion(entry) for entry in entries] if whole else _without_entries(source, Action.DELETED, count)
    entries.delete()
    return count, gone


@dataclass(slots=True)
class _Skipped:
    """Number of omitted entries by reason, and of invalid lines, with the messages of the first ones."""

    dropped: Counter[str] = field(default_factory=Counter)
    bad: int = 0
    bad_lines: list[str] = field(default_factory=list)

    def note(self, bad: BadLine) -> None:
        """Count an invalid line. Raises ListRefused early if there are more than any list may have."""
        self.bad += 1
        if len(self.bad_lines) < _EXAMPLES:
            self.bad_lines.append(bad.message)
        if self.bad > MAX_ENTRIES // _LINES_PER_BAD_LINE:
            self.refuse_above(0)

    def refuse_above(self, entries: int) -> None:
        """Raise ListRefused if there are too many invalid lines for this many entries."""
        if self.bad * _LINES_PER_BAD_LINE > self.bad + entries:
            raise ListRefused(
                _("%(why)s (%(number)s of the lines, more than one in %(share)s)"),
                why=self.bad_lines[0],
                number=f"{self.bad:,}",
                share=_LINES_PER_BAD_LINE,
            )


def _read(file: BinaryIO, kind: Format, rules: ImportRules, diff: ListDiff) -> _Skipped:
    """Add the valid entries to ``diff``; return the skipped lines. Raises ListRefused."""
    trusted = Ranges(rules.trusted.networks)
    skipped, entries = _Skipped(), 0
    for listed in read_list(file, kind):
        if isinstance(listed, BadLine):
            skipped.note(listed)
            continue
        why = dropped_for(listed, rules, trusted)
        if why is None and not diff.want(_entry(listed, rules)):
            why = _("there twice")
        if why is not None:
            skipped.dropped[why] += 1
            continue
        entries += 1
        if entries > MAX_ENTRIES:
            raise ListRefused(
                _("line %(line)s: the list has more than %(number)s entries"),
                line=listed.line,
                number=f"{MAX_ENTRIES:,}",
            )
    skipped.refuse_above(entries + skipped.dropped.total())
    if not entries:
        raise ListRefused(_("the list has no usable entry: use --remove to delete it"))
    return skipped


def dropped_for(listed: Listed, rules: ImportRules, trusted: Ranges) -> str | None:
    """Return why an entry is omitted, None if there is no reason. Raises ListRefused if its network is too large."""
    network = listed.network
    if _BOGONS.cover(network):
        return _("loopback, private or reserved")
    if not rules.force and network.prefixlen < _SHORTEST_PREFIX[network.version]:
        raise ListDoubtful(
            _("line %(line)s: %(network)s is larger than /%(prefix)s"),
            line=listed.line,
            network=network,
            prefix=_SHORTEST_PREFIX[network.version],
        )
    if _BOGONS.overlaps(network):
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
    source: str,
    diff: ListDiff,
    skipped: _Skipped,
    rules: ImportRules,
    still_wanted: Callable[[], bool],
    actor: str,
    caller: Caller | None,
) -> Imported:
    if not still_wanted():
        raise ListRefused(_("the import was canceled"))
    diff.load_existing(list_rows.rows_of(source))
    outcome = _outcome(diff, skipped, rules)
    if outcome.changes:
        networks = _changed_networks(diff) if outcome.changes <= MAX_CHANGES else []
        before = _described(source, networks)
        with guard_against_lockout(caller, force=False):
            list_rows.delete(id_ for id_, _ in diff.removed())
            list_rows.change(diff.changed())
            list_rows.insert(source, actor, diff.added())
            after = _described(source, networks)
            changes = (difference(before.get(id_), after.get(id_)) for id_ in sorted({*before, *after}))
            recorded = changes if networks else _counted(source, outcome)
            revisions.advance(blocked_networks_of(source), actor=actor, changes=recorded)
    return outcome


def _changed_networks(diff: ListDiff) -> list[str]:
    networks = [network for network, *_ in diff.added()]
    networks += [network for _, network in diff.removed()]
    return networks + [network for _, network, *_ in diff.changed()]


def _described(source: str, networks: list[str]) -> dict[int, Described]:
    return {entry.pk: describe(entry) for entry in list_rows.entries_of(source, networks)}


def _counted(source: str, outcome: Imported) -> Iterator[Change]:
    yield from _without_entries(source, Action.CREATED, outcome.added)
    yield from _without_entries(source, Action.CHANGED, outcome.changed)
    yield from _without_entries(source, Action.DELETED, outcome.removed)


def _without_entries(source: str, action: Action, count: int) -> Iterator[Change]:
    """Yield ``count`` changes without their entries: large revisions record only numbers."""
    named = {} if action is Action.CHANGED else {"source": source}
    return repeat(Change(Resource.BLOCKLIST, 0, "", action, {}, named), count)


def _outcome(diff: ListDiff, skipped: _Skipped, rules: ImportRules) -> Imported:
    """Return the result of the import. Raises ListRefused if the list shrank by more than half."""
    added, first_added = _count(f"+ {network}" for network, *_ in diff.added())
    removed, first_removed = _count(f"- {network}" for _, network in diff.removed())
    changed, first_changed = _count(f"~ {network}" for _, network, *_ in diff.changed())
    examples = (*first_added, *first_removed, *first_changed)
    outcome = Imported(
        added, removed, changed, diff.kept(), dict(skipped.dropped), examples, skipped.bad, tuple(skipped.bad_lines)
    )
    if outcome.after * 2 < outcome.before and not rules.force:
        raise ListDoubtful(
            _("the list has %(after)s entries instead of %(before)s: less than half"),
            after=f"{outcome.after:,}",
            before=f"{outcome.before:,}",
        )
    return outcome


def _count(lines: Iterator[str]) -> tuple[int, list[str]]:
    first = list(islice(lines, _EXAMPLES))
    return len(first) + sum(1 for _ in lines), first
