"""Compare the visitors' answers with the database: each answer must have exactly one row."""

import sqlite3
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from audit.counting.summaries import Summary
from audit.spool.losses import loss_files, losses_of
from audit.spool.segments import segment_files, segment_of
from tests.kill_test.visitors import Ledger
from tests.support.processes import PATIENCE, wait_until


class StoredLog:
    """The access log of an installation, read from outside."""

    def __init__(self, home: Path, spool: Path, url: str = "") -> None:
        self._database = home / "gatewall.sqlite3"
        self.spool = spool
        self._url = url

    def ask(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a statement with ``?`` placeholders."""
        if self._url:
            with psycopg.connect(self._url, connect_timeout=5) as connection:
                return connection.execute(statement.replace("?", "%s"), values).fetchall()
        # Not mode=ro: readers of a WAL database must be able to write its index.
        with closing(sqlite3.connect(self._database, timeout=30)) as connection:
            return connection.execute(statement, values).fetchall()

    def has(self, decision: UUID) -> bool:
        """Return whether the answer is in the access log."""
        return bool(self.ask("SELECT 1 FROM audit_accesslog WHERE decision_id = ?", self.key(decision)))

    def key(self, id_: UUID) -> UUID | str:
        """Return an id as the database stores it."""
        return id_ if self._url else id_.hex

    def rows(self) -> list[tuple[UUID, int]]:
        """Return decision id and status of every row."""
        found = self.ask("SELECT decision_id, status FROM audit_accesslog")
        return [(id_ if isinstance(id_, UUID) else UUID(id_), status) for id_, status in found]

    def gaps(self) -> list[tuple[str, int, float]]:
        """Return kind, count and time of every recorded gap."""
        return [(kind, count, _seconds(at)) for kind, count, at in self.ask("SELECT kind, count, at FROM audit_loggap")]

    def statuses(self) -> Counter[int]:
        """Return the number of answers by status, from the counts per minute."""
        found: Counter[str] = Counter()
        for (text,) in self.ask("SELECT counts FROM audit_spancount WHERE kind = 'status' AND width = 60"):
            found.update(Summary.from_text(text, 0).counts)
        return Counter({int(status): count for status, count in found.items()})

    def catch_up(self, ledger: Ledger, seconds: float = PATIENCE) -> float:
        """Wait until the newest answer is in the access log; return how long that took."""
        newest, began = ledger.newest, time.monotonic()
        wait_until(lambda: self.has(newest), seconds, "the newest answer to be in the access log")
        return time.monotonic() - began

    def settle(self, seconds: float = PATIENCE) -> None:
        """Wait until the whole spool is in the database, and every loss is recorded."""
        wait_until(self._is_settled, seconds, "the spool to be in the database")

    def _is_settled(self) -> bool:
        try:
            ends = {segment_of(path): path.stat().st_size for path in segment_files(self.spool)}
            losses = [losses_of(path) for path in loss_files(self.spool)]
        except FileNotFoundError:  # shipped meanwhile
            return False
        if None in ends or None in losses:
            return False
        told = {UUID(str(id_)): position for id_, position in self.ask("SELECT id, position FROM audit_spoolsegment")}
        read = all(told.get(segment.id, segment.first) >= end for segment, end in ends.items() if segment)
        return read and all(told.get(loss.id, 0) >= loss.count for loss in losses if loss)


@dataclass(frozen=True, slots=True)
class Account:
    """The comparison of a number of answers with the log."""

    answers: int
    rows: int
    missing: frozenset[UUID]
    """Answers without a row."""
    unanswered: int
    """Rows whose answer was not received: in flight during a kill."""
    different: int
    """Rows with a status other than the visitor's."""
    doubled: int
    """Duplicate rows, and decision ids given to two visitors."""
    miscounted: int
    """Difference between the counts per minute and the rows."""
    told: Counter[str]
    """Recorded gaps by kind."""

    @property
    def lost(self) -> int:
        """Return the number of answers without a row or a recorded gap."""
        return max(0, len(self.missing) - self.told["dropped"] - self.told["damaged"] - self.told["torn"])


def account_of(ledger: Ledger, stored_log: StoredLog) -> Account:
    """Compare a ledger with the access log, which must be settled."""
    rows = stored_log.rows()
    status_of = dict(rows)
    told: Counter[str] = Counter()
    for kind, count, _at in stored_log.gaps():
        told[kind] += count
    counted, plain = stored_log.statuses(), Counter(status for _id, status in rows)
    return Account(
        answers=len(ledger.answers),
        rows=len(rows),
        missing=frozenset(ledger.answers.keys() - status_of.keys()),
        unanswered=len(status_of.keys() - ledger.answers.keys()),
        different=sum(status_of.get(id_, status) != status for id_, status in ledger.answers.items()),
        doubled=len(rows) - len(status_of) + ledger.repeated,
        miscounted=sum(abs(counted[status] - plain[status]) for status in counted.keys() | plain.keys()),
        told=told,
    )


def decided_at(decision: UUID) -> float:
    """Return the time of a decision in seconds since the epoch, from its UUIDv7 (RFC 9562)."""
    return (decision.int >> 80) / 1000


def within(decisions: Iterable[UUID], since: float, until: float) -> int:
    """Return the number of decisions between two times."""
    return sum(since <= decided_at(decision) < until for decision in decisions)


def _seconds(value: Any) -> float:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
