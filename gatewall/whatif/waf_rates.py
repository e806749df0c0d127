"""Measure detection and false-positive rates of the built-in WAF rules over files of requests.

A file is JSON lines, gzipped or not, one request per line: ``id, label (attack, benign), visible (uri, header,
body), method, uri, headers, body``; texts are wire bytes as latin-1 characters.
"""

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gatewall.engine.waf.judge import Judge, request_of

SHARES = ("tuned", "validation")
_VISIBLE_PARTS = ("uri", "header")
Key = tuple[str, str]
"""Label, and the part of the request that contains the attack."""


class CorpusRefused(ValueError):
    """There is no corpus file, or a line is invalid; the message names file and line."""


@dataclass(slots=True)
class Rates:
    """Counts of one share of one corpus file."""

    corpus: str
    share: str
    seen: Counter[Key] = field(default_factory=Counter)
    refused: Counter[Key] = field(default_factory=Counter)
    false_positives: Counter[str] = field(default_factory=Counter)

    def detected(self, *parts: str) -> float | None:
        """Return the detection rate for attacks in these parts, None without any."""
        return _share(self.refused, self.seen, [("attack", part) for part in parts])

    def mistakes(self) -> float | None:
        """Return the false-positive rate, None without harmless requests."""
        return _share(self.refused, self.seen, [key for key in self.seen if key[0] == "benign"])


def share_of(request_id: str) -> str:
    """Return the share a request is in, by a stable hash: rules are tuned on one share only."""
    return SHARES[hashlib.sha256(request_id.encode()).digest()[0] & 1]


def measure(folder: Path, judge: Judge, *, paranoia: int = 1) -> Iterator[Rates]:
    """Yield the rates of each corpus file and share, for what a subrequest shows (no bodies).

    CRS attacks above the paranoia level are left out. Raises CorpusRefused, OSError.
    """
    paths = sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])
    if not paths:
        raise CorpusRefused(f"no .jsonl or .jsonl.gz in {folder}")
    for path in paths:
        rates = {share: Rates(path.name.partition(".")[0], share) for share in SHARES}
        for number, item in _items(path):
            try:
                if item["label"] == "attack" and not 1 <= item.get("meta", {}).get("paranoia", 1) <= paranoia:
                    continue
                _count(judge, rates[share_of(item["id"])], item)
            except (KeyError, TypeError, AttributeError, UnicodeEncodeError) as error:
                raise CorpusRefused(f"{path.name}:{number} is not a request ({type(error).__name__})") from error
        yield from rates.values()


def _count(judge: Judge, rates: Rates, item: dict[str, Any]) -> None:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in item["headers"].items()]
    refusing = judge.refusing(request_of(item["method"].encode("latin-1"), item["uri"].encode("latin-1"), headers))
    key = (item["label"], item["visible"])
    rates.seen[key] += 1
    rates.refused[key] += bool(refusing)
    if item["label"] == "benign":
        rates.false_positives.update(rule.name for rule in refusing)


def _items(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="ascii") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield number, json.loads(line)
            except ValueError as error:
                raise CorpusRefused(f"{path.name}:{number} is not JSON") from error


def _share(hits: Counter[Key], all_: Counter[Key], keys: list[Key]) -> float | None:
    total = sum(all_[key] for key in keys)
    return sum(hits[key] for key in keys) / total if total else None


def table(rates: Rates) -> str:
    """Return a row of the Markdown table."""
    cells = [rates.detected("uri"), rates.detected("header"), rates.detected(*_VISIBLE_PARTS)]
    rendered = [_percent(each, 2) for each in cells]
    count = sum(rates.seen.values())
    names = ", ".join(f"{name} {number}" for name, number in rates.false_positives.most_common(5))
    rendered.append(_percent(rates.mistakes(), 3))
    return f"| {rates.corpus} | {rates.share} | {count} | {' | '.join(rendered)} | {names} |"


HEAD = (
    "| Corpus | Share | Requests | Detected: URI % | header % | both % | False positives % | Rules in these |\n"
    "|---|---|---|---|---|---|---|---|"
)


def _percent(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{100 * value:.{digits}f}"
