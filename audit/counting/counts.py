"""What is counted of a batch of records, by span of time and by row. Pure.

Every answer is counted in a minute, ten minutes, an hour and a day (in UTC), so that a window of any
length is put together from few of them: any 24 hours from 38.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from audit.counting.summaries import Summary
from audit.spool.records import AccessRecord, storable

MINUTE, TEN_MINUTES, HOUR, DAY = 60, 600, 3_600, 86_400
KEYS = {MINUTE: 100, TEN_MINUTES: 100, HOUR: 200, DAY: 500}
"""The widths of spans in seconds, and how many keys of an open-ended kind a span of each counts by name."""
EVER = 0
"""The width of the span that never ends. Lifetime counter: never pruned."""
COUNTED_FOR_EVER = frozenset({"reason", "latency"})
EXACT = frozenset({"outcome", "reason", "deny-reason", "status", "latency", "country", "rule"})
"""Kinds whose keys are few, whatever visitors send: all of them are counted."""
OPEN_ENDED = frozenset({"client", "denied-client", "host", "path"})
KINDS = EXACT | OPEN_ENDED
MAX_PATH = 255
"""Paths that are equal for so many characters are counted as one."""
_EXACT_BELOW_US = 100
_LONGEST_US = 60_000_000

Place = tuple[str, int, int]
"""A kind, and the width and start (seconds since the epoch) of a span."""


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
    """The counts of a batch: per minute and kind the key of each answer, and per (kind, row id) the uses."""

    minutes: defaultdict[int, defaultdict[str, list[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    uses: dict[tuple[str, int], Uses] = field(default_factory=dict)

    def add(self, record: AccessRecord) -> None:
        """Count one record."""
        kinds = self.minutes[start_of(record.at, MINUTE)]
        for kind, key in _keys(record):
            kinds[kind].append(key)
        for row in _rows_used(record):
            self.uses.setdefault(row, Uses()).add(record.at)

    def portions(self, minutes: int) -> Iterator[dict[Place, Summary]]:
        """Yield what is to be added to each span, of at most so many minutes at once."""
        ordered = sorted(self.minutes)
        for first in range(0, len(ordered), minutes):
            yield self._spans(ordered[first : first + minutes])

    def _spans(self, minutes: Iterable[int]) -> dict[Place, Summary]:
        spans: dict[Place, Summary] = {}
        for minute in minutes:
            for kind, keys in self.minutes[minute].items():
                counts = _counted_keys(keys)
                for width in KEYS:
                    spans.setdefault((kind, width, start_of(minute, width)), Summary()).add(counts)
                if kind in COUNTED_FOR_EVER:
                    spans.setdefault((kind, EVER, 0), Summary()).add(counts)
        return spans


def counted(records: Iterable[AccessRecord]) -> Counts:
    """Return the counts of these records."""
    counts = Counts()
    for record in records:
        counts.add(record)
    return counts


def _counted_keys(keys: list[str]) -> Summary:
    counts: Counter[str] = Counter()
    for key, number in Counter(keys).items():
        counts[storable(key, MAX_PATH)] += number
    return Summary(counts)


def start_of(at: float, width: int) -> int:
    """Return when the span of this width began in which a moment lies."""
    return int(at // width * width)


def latency_class(microseconds: int) -> int:
    """Return a latency rounded up to two digits: at most a tenth too long, and exact below 100."""
    bounded, step = min(microseconds, _LONGEST_US), 1
    while bounded >= _EXACT_BELOW_US * step:
        step *= 10
    return -(-bounded // step) * step


def rule_key(rule_id: int, name: str) -> str:
    """Return the key of a WAF rule: its id, and its name at that time."""
    return f"{int(rule_id)} {name}"


def rule_of(key: str) -> tuple[int, str]:
    """Return the id and name of a WAF rule's key."""
    rule_id, _, name = key.partition(" ")
    return int(rule_id), name


def _keys(record: AccessRecord) -> list[tuple[str, str]]:
    keys = [
        ("outcome", record.outcome),
        ("reason", record.reason),
        ("status", str(record.status)),
        ("latency", str(latency_class(int(record.latency_us)))),
        ("country", (record.country_code or "")[:2]),
        ("client", record.client_ip),
        ("path", record.path[:MAX_PATH]),
        *(("rule", rule_key(rule["id"], str(rule.get("name", "")))) for rule in record.rules),
    ]
    if record.host:
        keys.append(("host", record.host))
    if record.outcome == "deny":
        keys += [("deny-reason", record.reason), ("denied-client", record.client_ip)]
    return keys


def _rows_used(record: AccessRecord) -> set[tuple[str, int]]:
    """Return the rows of policy that decided or contributed, and the credential that was used."""
    used = {("waf-rules", rule["id"]) for rule in record.rules}
    parts = [part for part in (record.decided_by, record.subject) if part is not None]
    return used | {(part["kind"], part["id"]) for part in parts if isinstance(part.get("id"), int)}
