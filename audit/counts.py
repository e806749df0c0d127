"""What is counted of a batch of records, by minute and by row. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from audit.records import AccessRecord, storable

MAX_KEYS = 1000
"""How many keys of an open-ended kind a minute holds; what comes on top is counted under ``OTHER``."""
OTHER = "(other)"
_MAX_KEY = 255
LATENCY_BOUNDS_US = (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 1_000_000)
EXACT = frozenset({"outcome", "reason", "status", "latency"})
"""Kinds whose keys are few and fixed: they are never put under ``OTHER``."""


@dataclass(slots=True)
class Uses:
    """How often a row was used in a batch, and when last."""

    count: int = 0
    last_at: float = 0.0

    def add(self, at: float) -> None:
        """Count one use."""
        self.count += 1
        self.last_at = max(self.last_at, at)


@dataclass(slots=True)
class Counts:
    """The counts of a batch: per (minute, kind) the keys, and per (kind, row id) the uses."""

    minutes: dict[tuple[datetime, str], Counter[str]] = field(default_factory=dict)
    uses: dict[tuple[str, int], Uses] = field(default_factory=dict)

    def add(self, record: AccessRecord) -> None:
        """Count one record."""
        minute = datetime.fromtimestamp(record.at // 60 * 60, UTC)
        for kind, key in _keys(record):
            self.minutes.setdefault((minute, kind), Counter())[storable(key, _MAX_KEY)] += 1
        for row in _rows_used(record):
            self.uses.setdefault(row, Uses()).add(record.at)


def counted(records: Iterable[AccessRecord]) -> Counts:
    """Return the counts of these records."""
    counts = Counts()
    for record in records:
        counts.add(record)
    return counts


def latency_bound(microseconds: int) -> int:
    """Return the upper bound of the latency class, in microseconds; the last class has that of a minute."""
    return next((bound for bound in LATENCY_BOUNDS_US if microseconds <= bound), 60_000_000)


def _keys(record: AccessRecord) -> list[tuple[str, str]]:
    keys = [
        ("outcome", record.outcome),
        ("reason", record.reason),
        ("status", str(record.status)),
        ("latency", str(latency_bound(record.latency_us))),
        ("client", record.client_ip),
        ("host", record.host or ""),
        ("path", record.path),
        ("country", record.country_code or ""),
        *(("rule", str(rule["id"])) for rule in record.rules),
    ]
    if record.outcome == "deny":
        keys.append(("blocked-client", record.client_ip))
    return keys


def _rows_used(record: AccessRecord) -> set[tuple[str, int]]:
    """Return the rows of policy that decided or contributed, and the credential that was used."""
    used = {("waf-rules", rule["id"]) for rule in record.rules}
    parts = [part for part in (record.decided_by, record.subject) if part is not None]
    return used | {(part["kind"], part["id"]) for part in parts if isinstance(part.get("id"), int)}
