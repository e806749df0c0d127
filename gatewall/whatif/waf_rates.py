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
    refused_with_body: Counter[Key] = field(default_factory=Counter)
    """Refused if the proxy passes bodies on; the same as ``refused`` for a request without one."""
    false_positives: Counter[str] = field(default_factory=Counter)
    """Rules that match harmless requests which are refused with their body."""
    with_body: list[bool] = field(default_factory=list)
    """For each harmless request with a body, whether it is refused."""

    def detected(self, *parts: str) -> float | None:
        """Return the detection rate for attacks in these parts, without bodies; None without any."""
        return _share(self.refused, self.seen, [("attack", part) for part in parts])

    def detected_with_bodies(self) -> float | None:
        """Return the detection rate for all attacks if bodies are passed on, None without any."""
        return _share(self.refused_with_body, self.seen, [key for key in self.seen if key[0] == "attack"])

    def mistakes(self) -> float | None:
        """Return the false-positive rate without bodies, None without harmless requests."""
        return _share(self.refused, self.seen, [key for key in self.seen if key[0] == "benign"])

    def mistakes_with_bodies(self) -> float | None:
        """Return the false-positive rate of harmless requests with a body, None without any."""
        return sum(self.with_body) / len(self.with_body) if self.with_body else None


@dataclass(slots=True)
class Application:
    """Harmless requests of one application (``meta.application``)."""

    seen: int = 0
    with_body: int = 0
    refused: int = 0
    rules: Counter[str] = field(default_factory=Counter)


def share_of(request_id: str) -> str:
    """Return the share a request is in, by a stable hash: rules are tuned on one share only."""
    return SHARES[hashlib.sha256(request_id.encode()).digest()[0] & 1]


def measure(folder: Path, judge: Judge, *, paranoia: int = 1) -> Iterator[Rates]:
    """Yield the rates of each corpus file and share, for subrequests without and with bodies.

    CRS attacks above the paranoia level are left out. Raises CorpusRefused, OSError.
    """
    for path in corpus_files(folder):
        rates = {share: Rates(path.name.partition(".")[0], share) for share in SHARES}
        for number, item in _items(path):
            try:
                if item["label"] == "attack" and not 1 <= item.get("meta", {}).get("paranoia", 1) <= paranoia:
                    continue
                _count(judge, rates[share_of(item["id"])], item)
            except (KeyError, TypeError, AttributeError, UnicodeEncodeError) as error:
                raise CorpusRefused(f"{path.name}:{number} is not a request ({type(error).__name__})") from error
        yield from rates.values()


def by_application(folder: Path, judge: Judge) -> dict[str, Application]:
    """Count the harmless requests of each application, with their bodies. Raises CorpusRefused, OSError."""
    found: dict[str, Application] = {}
    for path in corpus_files(folder):
        for number, item in _items(path):
            try:
                name = item.get("meta", {}).get("application")
                if name is None or item["label"] != "benign":
                    continue
                refusing = _refusing(judge, item, with_body=True)
            except (KeyError, TypeError, AttributeError, UnicodeEncodeError) as error:
                raise CorpusRefused(f"{path.name}:{number} is not a request ({type(error).__name__})") from error
            application = found.setdefault(name, Application())
            application.seen += 1
            application.with_body += bool(item.get("body"))
            application.refused += bool(refusing)
            application.rules.update(refusing)
    return dict(sorted(found.items()))


def corpus_files(folder: Path) -> list[Path]:
    """Return the files of requests in a folder. Raises CorpusRefused if there are none."""
    paths = sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])
    if not paths:
        raise CorpusRefused(f"no .jsonl or .jsonl.gz in {folder}")
    return paths


def _count(judge: Judge, rates: Rates, item: dict[str, Any]) -> None:
    refusing = _refusing(judge, item, with_body=False)
    key = (item["label"], item["visible"])
    rates.seen[key] += 1
    rates.refused[key] += bool(refusing)
    if item.get("body"):
        refusing = _refusing(judge, item, with_body=True)
    rates.refused_with_body[key] += bool(refusing)
    if item["label"] == "benign":
        rates.false_positives.update(refusing)
        if item.get("body"):
            rates.with_body.append(bool(refusing))


def _refusing(judge: Judge, item: dict[str, Any], *, with_body: bool) -> list[str]:
    """Return the names of the rules that match, if they refuse the request."""
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in item["headers"].items()]
    body = (item.get("body") or "").encode("latin-1") if with_body else b""
    method, uri = item["method"].encode("latin-1"), item["uri"].encode("latin-1")
    return [rule.name for rule in judge.refusing(request_of(method, uri, headers, body or None))]


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
    detected = [rates.detected("uri"), rates.detected("header"), rates.detected(*_VISIBLE_PARTS)]
    cells = [rates.corpus, rates.share, str(sum(rates.seen.values())), *[_percent(each, 2) for each in detected]]
    cells += [_percent(rates.mistakes(), 3), _percent(rates.detected_with_bodies(), 2)]
    cells += [_percent(rates.mistakes_with_bodies(), 3), _names(rates.false_positives)]
    return f"| {' | '.join(cells)} |"


HEAD = (
    "| Corpus | Share | Requests | Detected: URI % | header % | both % | False positives % | Detected with bodies % "
    "| False positives of requests with a body % | Rules in these |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def application_table(name: str, application: Application) -> str:
    """Return a row of the Markdown table of applications."""
    cells = [
        name,
        str(application.seen),
        str(application.with_body),
        str(application.refused),
        _names(application.rules),
    ]
    return f"| {' | '.join(cells)} |"


APPLICATION_HEAD = "| Application | Requests | With a body | Refused | Rules in these |\n|---|---|---|---|---|"


def _names(rules: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in rules.most_common(5))


def _percent(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{100 * value:.{digits}f}"
