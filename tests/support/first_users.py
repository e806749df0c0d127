"""Create the first users of a test quickly: replay the rows that the service wrote for an earlier test.

Most tests on SQLite begin with empty tables and create the same users, each of which takes the service 20 statements.
The rows are kept for each sequence of users; times and random ids are replaced. ``tests/integration/
test_first_users.py`` compares the tables with those of the service.
"""

import uuid
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import time_machine
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import User
from gatewall.kernel.changes import plain
from gatewall.policy import revisions

TABLES = (
    *("gatewall_policyhead", "gatewall_policyrevision", "gatewall_policysegment", "accounts_user"),
    *("audit_securityevent", "audit_usecount"),
)
"""Tables that the service writes when it creates a user."""
_MOMENT = datetime(2011, 11, 11, 11, 11, 11, 111111, UTC)
"""The recorded time of rows, which is replaced by the time of the test."""
_RANDOM = frozenset({"epoch", "lineage", "change"})
_STATE = """SELECT (SELECT epoch || ' ' || revision FROM gatewall_policyhead),
    (SELECT count(*) FROM accounts_user), (SELECT count(*) FROM audit_securityevent),
    (SELECT count(*) FROM audit_usecount), (SELECT count(*) FROM webhooks_webhook)"""

Rows = dict[tuple[str, Any], dict[str, Any]]
Sequence = tuple[Hashable, ...]


@dataclass(frozen=True)
class _Written:
    """The rows that the service wrote for the last user of a sequence."""

    rows: Rows
    user: dict[str, Any]


_written: dict[Sequence, _Written] = {}
_now_there: tuple[str, Sequence] = ("", ())
"""Epoch of the policy, and the users that were created since the tables were empty."""


def create(service: Callable[..., User], **values: Any) -> User:
    """Create a user with the service, or replay the rows that it wrote for the same users before."""
    global _now_there  # noqa: PLW0603 - of the one database of this process
    before = _users_so_far()
    if before is None or values.keys() & {"authorized_domains", "groups"}:
        return service(**values)
    users = (*before, (tuple(settings.PASSWORD_HASHERS), *sorted(values.items())))
    if users not in _written:
        _written[users], user = _record(service, values)
        _move_to_now(_written[users].rows, _epoch())
    else:
        user = _user_of(_written[users])
        _move_to_now(_written[users].rows, _epoch() or uuid.uuid4().hex)
        _announce_later()
    _now_there = (_epoch(), users)
    return User.objects.get(pk=user.pk) if user.created_at == _MOMENT else user


def _users_so_far() -> Sequence | None:
    """Return the users that this module has created in empty tables, or None if there are other rows."""
    usual = connection.vendor == "sqlite" and connection.in_atomic_block
    if not usual or revisions._gathering.get() is not None:
        return None
    state = _fetch(_STATE)[0]
    epoch, users = _now_there
    number = len(users)
    if state == (None, 0, 0, 0, 0):
        return ()
    return users if users and state == (f"{epoch} {number}", number, number, 1, 0) else None


def _record(service: Callable[..., User], values: dict[str, Any]) -> tuple[_Written, User]:
    before = _rows()
    with time_machine.travel(_MOMENT, tick=False):
        user = service(**values)
    rows = {key: row for key, row in _rows().items() if before.get(key) != row}
    return _Written(rows, {field.attname: getattr(user, field.attname) for field in User._meta.concrete_fields}), user


def _user_of(written: _Written) -> User:
    values = {**written.user, "created_at": timezone.now()}
    return User.from_db("default", list(values), list(values.values()))


def _move_to_now(rows: Rows, epoch: str) -> None:
    """Update the rows to the current time and to new ids."""
    now = timezone.now()
    texts = {_as_stored(_MOMENT): _as_stored(now), plain(_MOMENT): plain(now)}
    for (table, _), row in rows.items():
        values = [epoch if name == "epoch" else _value(name, value, texts, now) for name, value in row.items()]
        places = ", ".join("?" * len(values))
        _execute(f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({places})", values)  # noqa: S608


def _value(name: str, value: Any, texts: dict[str, str], now: datetime) -> Any:
    if name in _RANDOM:
        return uuid.uuid4().hex
    if name == "minute":
        return int(now.timestamp()) // 60
    if isinstance(value, str):
        for recorded, moved in texts.items():
            value = value.replace(recorded, moved)
    return value


def _announce_later() -> None:
    """Repeat the effects of a change on its process, see ``revisions``."""
    revisions._pending.set(False)
    revisions._unannounced.set(True)
    transaction.on_commit(revisions._announce, robust=True)


def _as_stored(moment: datetime) -> str:
    return str(moment.replace(tzinfo=None))


def _epoch() -> str:
    found = _fetch("SELECT +epoch FROM gatewall_policyhead")
    return found[0][0] if found else ""


def _rows() -> Rows:
    """Return the rows as SQLite stores them, keyed by table and first column."""
    found: Rows = {}
    for table in TABLES:
        names = [name for _, name, *_ in _fetch(f"PRAGMA table_info({table})")]
        chosen = ", ".join(f"+{name}" for name in names)  # hides the column type, so that no converter runs
        for row in _fetch(f"SELECT {chosen} FROM {table}"):  # noqa: S608
            found[table, row[0]] = dict(zip(names, row, strict=True))
    return found


def _fetch(statement: str) -> list[tuple[Any, ...]]:
    return list(_execute(statement))


def _execute(statement: str, values: list[Any] | None = None) -> Any:
    """Run a statement that is not counted in tests."""
    connection.ensure_connection()
    return connection.connection.execute(statement, values or [])
