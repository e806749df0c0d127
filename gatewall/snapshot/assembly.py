"""Assemble the policy in memory from segments. Pure.

Unchanged segments keep their tables, so the cost of a change is that of the segments it touched.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from gatewall.engine.lists import IPLists
from gatewall.engine.segments import SHARD_OF, kind_of, source_of
from gatewall.engine.snapshot import KINDS, PolicySnapshot, Segment, Version
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.scanning import Scanners
from gatewall.snapshot import codec
from gatewall.snapshot.keyed_rows import Sharded


class SegmentRefused(ValueError):
    """A segment is missing, unknown or malformed; the message says which and why."""


@dataclass(frozen=True, slots=True)
class SegmentData:
    """A segment: the digest of its bytes, and how to fetch them."""

    identity: str
    read: Callable[[], bytes | memoryview]

    @classmethod
    def of(cls, data: bytes | memoryview) -> "SegmentData":
        """Return these bytes as a segment."""
        return cls(hashlib.sha256(data).hexdigest(), lambda: data)


@dataclass(frozen=True, slots=True)
class Built:
    """A policy that was built: its version, and identity and table of each segment."""

    version: Version
    tables: Mapping[str, tuple[str, Any]]


class Assembly:
    """Builds a series of policies, each reusing the unchanged tables of the one before."""

    def __init__(self, scanners: Scanners | None = None) -> None:
        """``scanners`` compiles scanners for the WAF; without it RE2 matches every rule."""
        self._scanners = scanners
        self._tables: dict[str, tuple[str, Any]] = {}
        self._sharded: dict[str, Sharded[Any, Any]] = {}
        self.built: Built | None = None
        """The last policy that ``build()`` returned."""

    def build(self, version: Version, segments: Mapping[str, SegmentData]) -> PolicySnapshot:
        """Build the policy from these segments. Raises SegmentRefused and keeps the tables built before."""
        missing = [segment for segment in Segment if segment not in segments and segment not in SHARD_OF]
        if missing:
            raise SegmentRefused(f"{', '.join(missing)} missing")
        self._tables = {name: (data.identity, self._table(name, data)) for name, data in segments.items()}
        policy = self._policy(version, self._tables)
        self.built = Built(version, self._tables)
        return policy

    def build_over(self, live: Built, replaced: Mapping[str, SegmentData], removed: Collection[str]) -> PolicySnapshot:
        """Build the policy that another assembly built, with some segments replaced and some removed.

        Raises SegmentRefused. The other tables are shared.
        """
        self._tables = {name: (data.identity, self._table(name, data)) for name, data in replaced.items()}
        kept = {name: table for name, table in live.tables.items() if name not in removed}
        return self._policy(live.version, kept | self._tables)

    def _policy(self, version: Version, tables: Mapping[str, tuple[str, Any]]) -> PolicySnapshot:
        found = {name: table for name, (_, table) in tables.items()}
        self._sharded = {kind: self._of_shards(kind, found) for kind in SHARD_OF}
        blocked = [table for name, table in found.items() if source_of(name) is not None]
        lists = IPLists(blocked, found[Segment.ALLOWED_NETWORKS])
        return PolicySnapshot.of(version, lists, found | self._sharded)

    def _of_shards(self, kind: str, tables: Mapping[str, Any]) -> Sharded[Any, Any]:
        shards = {name: table for name, table in tables.items() if kind_of(name) == kind}
        known = self._sharded.get(kind)
        return known if known is not None and known.is_of(shards) else Sharded(shards, SHARD_OF[kind])

    def _table(self, name: str, data: SegmentData) -> Any:
        known = self._tables.get(name)
        if known is not None and known[0] == data.identity:
            return known[1]
        is_table = source_of(name) is not None or (kind_of(name) in SHARD_OF and name not in SHARD_OF)
        if not is_table and (name not in KINDS or name in SHARD_OF):
            raise SegmentRefused(f"{name} is not a segment of this version")
        try:
            rows = codec.decode(name, data.read())
            if name == Segment.WAF_RULES:
                return RuleSet(rows, self._scanners)
            return rows if is_table else KINDS[name].table(rows)
        except ValueError as error:
            raise SegmentRefused(f"{name}: {error}") from error
