"""Figures of a backtest in bounded memory: which clients would be answered differently, and how. Mergeable. Pure."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from audit.spool.records import AccessRecord
from gatewall.engine.model import Effect, SubjectKind
from gatewall.replay.access_changes import AccessChanges, answer_of
from gatewall.replay.comparison import Compared
from gatewall.replay.heavy_hitters import HeavyHitters

_NUMBERS = ("read", "untouched", "unchanged", "changed")
_COUNTERS = ("missing", "assumed")
_HITTERS = ("people", "changes", "hosts", "subjects", "clients")


class Tally:
    """Figures of a backtest. Those of consecutive parts of a window, newest first, can be merged."""

    def __init__(self) -> None:
        self._numbers = Counter(dict.fromkeys(_NUMBERS, 0))
        self._counters = {name: Counter[str]() for name in _COUNTERS}
        self._hitters = {name: HeavyHitters() for name in _HITTERS}
        self._access = AccessChanges()

    @property
    def read(self) -> int:
        """Return the number of requests counted."""
        return self._numbers["read"]

    def add(self, record: AccessRecord, compared: Compared | None) -> None:
        """Count a recorded request; ``compared`` None: the change makes no difference. Add the newest first."""
        self._numbers["read"] += 1
        if compared is None:
            self._numbers["untouched"] += 1
            return
        if compared.missing is not None:
            self._counters["missing"][compared.missing.value] += 1
            return
        self._counters["assumed"].update(each.value for each in compared.assumed)
        if compared.is_changed:
            self._add_change(record, compared)
        else:
            self._numbers["unchanged"] += 1

    def _add_change(self, record: AccessRecord, compared: Compared) -> None:
        self._numbers["changed"] += 1
        subject, hitters = record.subject, self._hitters
        self._access.add(record, compared)
        hitters["changes"].add(json.dumps([answer_of(compared.before), answer_of(compared.after)]), record)
        hitters["hosts"].add(record.host or "", record)
        hitters["clients"].add(record.client_ip, record)
        if subject is None:
            return
        who = json.dumps([subject["kind"], subject["id"]])  # names may have changed
        hitters["subjects"].add(who, record)
        if subject["kind"] == SubjectKind.USER and compared.is_newly_refused:
            hitters["people"].add(who, record)

    def merge(self, older: Mapping[str, Any]) -> None:
        """Add figures from ``as_json``, of requests that are all older than these."""
        self._numbers.update(older["numbers"])
        for name in _COUNTERS:
            self._counters[name].update(older["counters"][name])
        for name in _HITTERS:
            self._hitters[name].merge(older["hitters"][name])
        self._access.merge(older["access"])

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON, for ``merge``; ``result`` returns the figures to show."""
        counters = {name: dict(each) for name, each in self._counters.items()}
        hitters = {name: each.as_json() for name, each in self._hitters.items()}
        access = self._access.as_json()
        return {"numbers": dict(self._numbers), "counters": counters, "hitters": hitters, "access": access}

    def result(self) -> dict[str, Any]:
        """Return the figures as JSON: changes of access, then users, outcomes, hosts and clients."""
        missing, hitters = self._counters["missing"], self._hitters
        return {
            **{name: self._numbers[name] for name in _NUMBERS},
            "undecidable": {"total": missing.total(), "missing": dict(sorted(missing.items()))},
            "assumed": dict(sorted(self._counters["assumed"].items())),
            "access": self._access.result(),
            "people": hitters["people"].rows(_subject),
            "changes": hitters["changes"].rows(_change),
            "hosts": hitters["hosts"].rows(lambda key, _: {"host": key or None}),
            "subjects": hitters["subjects"].rows(_subject),
            "clients": hitters["clients"].rows(lambda key, _: {"client_ip": key}),
        }


def _subject(key: str, name: str | None) -> dict[str, Any]:
    kind, id_ = json.loads(key)
    return {"kind": kind, "id": id_, "name": name}


def _change(key: str, _: str | None) -> dict[str, Any]:
    before, after = json.loads(key)
    lets_in = after["outcome"] == Effect.ALLOW
    return {"from": before, "to": after, "lets_in": lets_in}
