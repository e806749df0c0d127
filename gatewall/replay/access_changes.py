"""People, hosts, and clients without a subject that would lose or gain access, by host and path. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from audit.spool.records import AccessRecord
from gatewall.engine.model import Effect, Verdict
from gatewall.replay.comparison import Compared
from gatewall.replay.heavy_hitters import HeavyHitters
from gatewall.replay.path_groups import path_group


class AccessChanges:
    """Counts requests that would be newly refused or newly let in; a change of the reason alone does not count."""

    def __init__(self) -> None:
        self._people, self._hosts, self._anonymous = HeavyHitters(), HeavyHitters(), HeavyHitters()

    def add(self, record: AccessRecord, compared: Compared) -> None:
        """Count a request whose answer differs; add the newest first."""
        loses = compared.is_newly_refused
        if not loses and not compared.is_newly_allowed:
            return
        self._hosts.add(json.dumps([record.host, loses]), record)
        change = (record.host, path_group(record.path), answer_of(compared.before), answer_of(compared.after))
        subject = record.subject
        if subject is None:
            self._anonymous.add(json.dumps([record.client_ip, *change]), record)
        else:
            self._people.add(json.dumps([[subject["kind"], subject["id"]], *change]), record)

    def merge(self, older: Mapping[str, Any]) -> None:
        """Add figures from ``as_json``, of requests that are all older than these."""
        self._people.merge(older["people"])
        self._hosts.merge(older["hosts"])
        self._anonymous.merge(older["anonymous"])

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON, for ``merge``."""
        each = {"people": self._people, "hosts": self._hosts, "anonymous": self._anonymous}
        return {name: hitters.as_json() for name, hitters in each.items()}

    def result(self) -> dict[str, Any]:
        """Return the changes of access as JSON, the most requests first."""
        return {
            "people": self._people.rows(_person),
            "hosts": self._hosts.rows(_host),
            "anonymous": self._anonymous.rows(_client),
        }


def answer_of(verdict: Verdict | None) -> Mapping[str, str]:
    """Return the outcome and reason of a verdict, as JSON."""
    return {"outcome": verdict.effect.value, "reason": verdict.reason.value} if verdict else {}


def _person(key: str, name: str | None) -> dict[str, Any]:
    (kind, id_), *change = json.loads(key)
    return {"subject": {"kind": kind, "id": id_, "name": name}, **_change_json(*change)}


def _client(key: str, _: str | None) -> dict[str, Any]:
    client, *change = json.loads(key)
    return {"client_ip": client, **_change_json(*change)}


def _host(key: str, _: str | None) -> dict[str, Any]:
    host, loses = json.loads(key)
    return {"host": host, "loses": loses}


def _change_json(host: str | None, path: str, before: dict[str, str], after: dict[str, str]) -> dict[str, Any]:
    return {"host": host, "path": path, "loses": after["outcome"] != Effect.ALLOW, "from": before, "to": after}
