"""The most frequent keys among recorded requests, with examples and times, in bounded memory. Mergeable. Pure."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from audit.counting.summaries import Summary
from audit.spool.records import AccessRecord

SHOWN = 50
"""How many of the most frequent keys a result lists."""
EXAMPLES = 3
_KEPT = 2_000


@dataclass(slots=True)
class _Seen:
    """Requests of one key: the first and last time, some examples, and the subject's name in the first one added."""

    first_at: float
    last_at: float
    name: str | None
    examples: list[str] = field(default_factory=list)


class HeavyHitters:
    """Heavy hitters: the most frequent keys with example decisions, and the maximum undercount."""

    def __init__(self) -> None:
        self._summary = Summary()
        self._seen: dict[str, _Seen] = {}

    def add(self, key: str, record: AccessRecord) -> None:
        """Count a request; add the newest first."""
        counts = self._summary.counts
        counts[key] += 1
        seen = self._seen.get(key)
        if seen is None:
            name = record.subject["name"] if record.subject else None
            seen = self._seen[key] = _Seen(record.at, record.at, name)
        seen.first_at, seen.last_at = min(seen.first_at, record.at), max(seen.last_at, record.at)
        if len(seen.examples) < EXAMPLES:
            seen.examples.append(record.decision_id)
        self._bound()

    def merge(self, older: Mapping[str, Any]) -> None:
        """Add figures from ``as_json``, of requests that are all older than these."""
        self._summary.add(Summary(Counter(older["counts"]), older["error"]))
        for key, (first_at, last_at, name, examples) in older["seen"].items():
            seen = self._seen.setdefault(key, _Seen(first_at, last_at, name))
            seen.first_at, seen.last_at = min(seen.first_at, first_at), max(seen.last_at, last_at)
            seen.examples += examples[: EXAMPLES - len(seen.examples)]
        self._bound()

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON, for ``merge``."""
        seen = {key: [each.first_at, each.last_at, each.name, each.examples] for key, each in self._seen.items()}
        return {"counts": dict(self._summary.counts), "error": self._summary.error, "seen": seen}

    def _bound(self) -> None:
        if len(self._summary.counts) > 2 * _KEPT:
            self._summary.cut(_KEPT)
            self._seen = {each: self._seen[each] for each in self._summary.counts}

    def rows(self, describe: Callable[[str, str | None], Mapping[str, Any]]) -> dict[str, Any]:
        """Return the number of keys (a lower bound if ``error`` is not 0), and the most frequent ones as ``results``.

        A row has the fields that ``describe`` returns for key and name, then count, first and last time, and examples.
        """
        results = [
            {**describe(key, self._seen[key].name), "count": number, **_json_of(self._seen[key])}
            for key, number in self._summary.top(SHOWN)
        ]
        return {"number": len(self._summary.counts), "error": self._summary.error, "results": results}


def _json_of(seen: _Seen) -> dict[str, Any]:
    first, last = (datetime.fromtimestamp(at, UTC).isoformat() for at in (seen.first_at, seen.last_at))
    return {"first_at": first, "last_at": last, "examples": seen.examples}
