"""Figures of a backtest in bounded memory: which clients would be answered differently, and how. Pure."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from audit.counting.summaries import Summary
from audit.spool.records import AccessRecord
from gatewall.engine.model import Effect, SubjectKind, Verdict
from gatewall.replay.comparison import Compared

SHOWN = 50
"""How many of the most frequent hosts, subjects, clients and users a result lists."""
EXAMPLES = 3
_KEPT = 2_000


class HeavyHitters:
    """Heavy hitters: the most frequent keys with example decisions, and the maximum undercount."""

    def __init__(self) -> None:
        self._summary = Summary()
        self._examples: dict[str, list[str]] = {}
        self._names: dict[str, str | None] = {}

    def add(self, key: str, example: str, name: str | None = None) -> None:
        """Count a decision; the first name of a key is kept."""
        self._summary.counts[key] += 1
        self._names.setdefault(key, name)
        some = self._examples.setdefault(key, [])
        if len(some) < EXAMPLES:
            some.append(example)
        if len(self._summary.counts) > 2 * _KEPT:
            self._summary.cut(_KEPT)
            self._examples = {each: self._examples[each] for each in self._summary.counts}
            self._names = {each: self._names[each] for each in self._summary.counts}

    def to_json(self) -> dict[str, Any]:
        """Return the number of keys (a lower bound if ``error`` is not 0) and the most frequent ones."""
        rows = [
            {"key": key, "name": self._names[key], "count": number, "examples": self._examples[key]}
            for key, number in self._summary.top(SHOWN)
        ]
        return {"number": len(self._summary.counts), "error": self._summary.error, "top": rows}


class Tally:
    """Figures of a backtest."""

    def __init__(self) -> None:
        self.read = self.untouched = self.unchanged = self.changed = 0
        self._missing: Counter[str] = Counter()
        self._assumed: Counter[str] = Counter()
        self._changes, self._people = HeavyHitters(), HeavyHitters()
        self._hosts, self._subjects, self._clients = HeavyHitters(), HeavyHitters(), HeavyHitters()

    def add(self, record: AccessRecord, compared: Compared | None) -> None:
        """Count a recorded request; None: the change makes no difference."""
        self.read += 1
        if compared is None:
            self.untouched += 1
            return
        if compared.missing is not None:
            self._missing[compared.missing.value] += 1
            return
        self._assumed.update(each.value for each in compared.assumed)
        if compared.is_changed:
            self._add_change(record, compared)
        else:
            self.unchanged += 1

    def _add_change(self, record: AccessRecord, compared: Compared) -> None:
        self.changed += 1
        example, subject = record.decision_id, record.subject
        self._changes.add(json.dumps([_words(compared.before), _words(compared.after)]), example)
        self._hosts.add(record.host or "", example)
        self._clients.add(record.client_ip, example)
        if subject is None:
            return
        who = json.dumps([subject["kind"], subject["id"]])  # names may have changed
        self._subjects.add(who, example, subject["name"])
        if subject["kind"] == SubjectKind.USER and compared.is_newly_refused:
            self._people.add(who, example, subject["name"])

    def result(self) -> dict[str, Any]:
        """Return the figures as JSON: newly refused users, changes of outcome, hosts, subjects and clients."""
        return {
            "read": self.read,
            "untouched": self.untouched,
            "unchanged": self.unchanged,
            "changed": self.changed,
            "undecidable": {"total": self._missing.total(), "missing": dict(sorted(self._missing.items()))},
            "assumed": dict(sorted(self._assumed.items())),
            "people": _subjects(self._people.to_json()),
            "changes": _named(self._changes.to_json(), _change),
            "hosts": _named(self._hosts.to_json(), lambda key: {"host": key or None}),
            "subjects": _subjects(self._subjects.to_json()),
            "clients": _named(self._clients.to_json(), lambda key: {"client_ip": key}),
        }


def _words(verdict: Verdict | None) -> Mapping[str, str]:
    return {"outcome": verdict.effect.value, "reason": verdict.reason.value} if verdict else {}


def _subjects(shown: dict[str, Any]) -> dict[str, Any]:
    found = _named(shown, lambda key: dict(zip(("kind", "id"), json.loads(key), strict=True)))
    for row, each in zip(found["results"], shown["top"], strict=True):
        row["name"] = each["name"]
    return found


def _change(key: str) -> dict[str, Any]:
    before, after = json.loads(key)
    lets_in = after["outcome"] == Effect.ALLOW
    return {"from": before, "to": after, "lets_in": lets_in}


def _named(shown: dict[str, Any], name: Any) -> dict[str, Any]:
    rows = [{**name(each["key"]), "count": each["count"], "examples": each["examples"]} for each in shown["top"]]
    return {"number": shown["number"], "error": shown["error"], "results": rows}
