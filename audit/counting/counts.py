"""Aggregate a batch of records by time span and by policy row. Pure.

Every request is counted in its minute, ten minutes, hour and day (UTC), so that the counts of a window of any length
are the sum of few spans: at most 38 for 24 hours.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from audit.counting.summaries import Summary
from audit.spool.records import AccessRecord, storable
from gatewall.engine.devices import program_of

MINUTE, TEN_MINUTES, HOUR, DAY = 60, 600, 3_600, 86_400
KEYS = {MINUTE: 100, TEN_MINUTES: 100, HOUR: 200, DAY: 500}
"""Span widths in seconds, and the number of keys per span that an unbounded kind counts individually."""
EVER = 0
"""Width of the unbounded span. Lifetime counter: never pruned."""
COUNTED_FOR_EVER = frozenset({"reason", "latency"})
EXACT = frozenset(
    {"outcome", "reason", "deny-reason", "status", "latency", "country", "rule", "would-refuse", "would-rule"}
)
"""Kinds with few keys: every key is counted individually."""
OPEN_ENDED = frozenset({"client", "denied-client", "host", "path", "would-host", "would-client"})
"""Kinds with any number of keys. ``would-...``: of requests that the WAF would have refused outside monitor mode."""
KINDS = EXACT | OPEN_ENDED
WOULD_REFUSE = "waf"
"""The only key of the kind ``would-refuse``."""
_KINDS_WITH_PROGRAM = frozenset({"git-token", "app-token", "license", "guest", "device"})
MAX_PATH = 255
"""Paths are truncated to this many characters."""
_EXACT_BELOW_US = 100
_MAX_LATENCY_US = 60_000_000

Place = tuple[str, int, int]
"""Kind, width and start (seconds since the epoch) of a span."""


@dataclass(slots=True)
class Uses:
    """Number of uses of a row in a batch, and time of the last one; for a machine's credential also its program."""

    count: int = 0
    last_at: float = 0.0
    last_by: str = ""

    def add(self, at: float, by: str = "") -> None:
        self.count += 1
        if at >= self.last_at:
            self.last_at, self.last_by = at, by


@dataclass(slots=True)
class Counts:
    """Counts of a batch: keys per minute and kind, and uses per (kind, row id)."""

    minutes: defaultdict[int, defaultdict[str, list[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    uses: dict[tuple[str, int], Uses] = field(default_factory=dict)

    def add(self, record: AccessRecord) -> None:
        kinds = self.minutes[start_of(record.at, MINUTE)]
        for kind, key in _keys(record):
            kinds[kind].append(key)
        for row in _rows_used(record):
            self.uses.setdefault(row, Uses()).add(record.at, _program(record, row[0]))

    def portions(self, minutes: int) -> Iterator[dict[Place, Summary]]:
        """Yield the counts per span and kind, in portions of at most ``minutes`` minutes."""
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
    """Count these records by span and by policy row."""
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
    """Return the start of the span of this width that contains ``at``."""
    return int(at // width * width)


def latency_class(microseconds: int) -> int:
    """Round a latency up to two digits: exact below 100, otherwise at most 10 % too long; capped at a minute."""
    bounded, step = min(microseconds, _MAX_LATENCY_US), 1
    while bounded >= _EXACT_BELOW_US * step:
        step *= 10
    return -(-bounded // step) * step


def rule_key(rule_id: int, name: str) -> str:
    """Return the key of a WAF rule: its id and current name."""
    return f"{int(rule_id)} {name}"


def rule_of(key: str) -> tuple[int, str]:
    """Return id and name of the WAF rule with this key."""
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
    if record.would_refuse:
        keys += _would_keys(record)
    return keys


def _would_keys(record: AccessRecord) -> list[tuple[str, str]]:
    """Return the keys of a request that the WAF would have refused outside monitor mode."""
    return [
        ("would-refuse", WOULD_REFUSE),
        ("would-host", record.host or ""),
        ("would-client", record.client_ip),
        *(("would-rule", rule_key(rule["id"], str(rule.get("name", "")))) for rule in record.rules),
    ]


def _program(record: AccessRecord, kind: str) -> str:
    """Return the program that used a machine's credential; "" for rows of other kinds."""
    return program_of(record.user_agent) if kind in _KINDS_WITH_PROGRAM else ""


def _rows_used(record: AccessRecord) -> set[tuple[str, int]]:
    """Return the policy rows that decided or contributed, and the credential used."""
    used = {("waf-rules", rule["id"]) for rule in record.rules}
    parts = [part for part in (record.decided_by, record.subject) if part is not None]
    return used | {(part["kind"], part["id"]) for part in parts if isinstance(part.get("id"), int)}
