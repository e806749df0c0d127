"""Figures of a backtest in bounded memory: which clients would be answered differently, and how. Pure."""

import json
from collections import Counter
from typing import Any

from audit.spool.records import AccessRecord
from gatewall.engine.model import Effect, SubjectKind
from gatewall.replay.access_changes import AccessChanges, answer_of
from gatewall.replay.comparison import Compared
from gatewall.replay.heavy_hitters import HeavyHitters


class Tally:
    """Figures of a backtest."""

    def __init__(self) -> None:
        self.read = self.untouched = self.unchanged = self.changed = 0
        self._missing: Counter[str] = Counter()
        self._assumed: Counter[str] = Counter()
        self._changes, self._people = HeavyHitters(), HeavyHitters()
        self._access = AccessChanges()
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
        subject = record.subject
        self._access.add(record, compared)
        self._changes.add(json.dumps([answer_of(compared.before), answer_of(compared.after)]), record)
        self._hosts.add(record.host or "", record)
        self._clients.add(record.client_ip, record)
        if subject is None:
            return
        who = json.dumps([subject["kind"], subject["id"]])  # names may have changed
        self._subjects.add(who, record)
        if subject["kind"] == SubjectKind.USER and compared.is_newly_refused:
            self._people.add(who, record)

    def result(self) -> dict[str, Any]:
        """Return the figures as JSON: who loses or gains access to what, then users, outcomes, hosts and clients."""
        return {
            "read": self.read,
            "untouched": self.untouched,
            "unchanged": self.unchanged,
            "changed": self.changed,
            "undecidable": {"total": self._missing.total(), "missing": dict(sorted(self._missing.items()))},
            "assumed": dict(sorted(self._assumed.items())),
            "access": self._access.result(),
            "people": self._people.rows(_subject),
            "changes": self._changes.rows(_change),
            "hosts": self._hosts.rows(lambda key, _: {"host": key or None}),
            "subjects": self._subjects.rows(_subject),
            "clients": self._clients.rows(lambda key, _: {"client_ip": key}),
        }


def _subject(key: str, name: str | None) -> dict[str, Any]:
    kind, id_ = json.loads(key)
    return {"kind": kind, "id": id_, "name": name}


def _change(key: str, _: str | None) -> dict[str, Any]:
    before, after = json.loads(key)
    lets_in = after["outcome"] == Effect.ALLOW
    return {"from": before, "to": after, "lets_in": lets_in}
