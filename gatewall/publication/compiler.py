"""Compile the rows of every app to policy segments, from one consistent snapshot of the database."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from accounts import policy_source as accounts
from gatewall.engine.segments import blocked_networks_of, kind_of, source_of
from gatewall.engine.snapshot import Segment
from gatewall.models import PolicyHead, PolicySegment
from gatewall.policy import revisions, system_settings
from gatewall.publication import segment_cache
from gatewall.snapshot import codec
from licensing import policy_source as licensing
from policies import policy_source as policies

NEVER = "never"
"""Change id of a segment that was never changed."""
_SHARDS: dict[str, Callable[[str], Iterable[Any]]] = {
    Segment.USERS: accounts.users,
    Segment.GIT_TOKENS: licensing.git_tokens,
    Segment.APP_TOKENS: licensing.app_tokens,
    Segment.LICENSES: licensing.licenses,
}
_ROWS: dict[str, Callable[[], Iterable[Any]]] = {
    Segment.SETTINGS: lambda: [system_settings.load()],
    **policies.SEGMENTS,
    Segment.REVOCATIONS: lambda: sorted(accounts.revoked_sessions(timezone.now())),
}


@dataclass(frozen=True, slots=True)
class Moment:
    """Head of the policy, and the last change id of each segment."""

    head: PolicyHead
    segments: dict[str, str]


@contextmanager
def consistent_read() -> Iterator[Moment]:
    """Yield the state of the policy in a consistent read; blocks no writer."""
    with _repeatable_read():
        changed = {name: str(change) for name, change in PolicySegment.objects.values_list("name", "change")}
        names = [*_ROWS, *map(blocked_networks_of, policies.block_sources())]
        segments = {name: changed.get(name, NEVER) for name in names}
        for shard in (*accounts.user_shards(), *licensing.token_shards()):
            # A row of the shard was changed, or all shards of its kind at once.
            segments[shard] = f"{changed.get(kind_of(shard), NEVER)}+{changed.get(shard, NEVER)}"
        yield Moment(revisions.head(), segments)


def segment_bytes(moment: Moment, name: str) -> bytes:
    """Return a segment's bytes, from the shared cache or compiled from the rows.

    Call it inside ``consistent_read()``. Raises ValueError if a row is invalid for the engine.
    """
    version, change = revisions.version_of(moment.head), moment.segments[name]
    data = segment_cache.fetch(version, name, change)
    if data is None:
        data = compiled_segment(name)
        segment_cache.keep(version, name, change, data)
    return data


def compiled_segment(name: str) -> bytes:
    """Return a segment's bytes, compiled from the rows; for a transaction whose changes nobody else may see.

    Raises ValueError if a row is invalid for the engine.
    """
    try:
        return codec.encode(name, _rows_of(name))
    except (TypeError, AttributeError, LookupError, ArithmeticError) as error:
        raise ValueError(f"{name} has a row that cannot be encoded ({type(error).__name__})") from error


def _rows_of(name: str) -> Iterable[Any]:
    source = source_of(name)
    if source is not None:
        return policies.blocked_networks(source)
    kind = kind_of(name)
    return _ROWS[name]() if kind == name else _SHARDS[kind](name.removeprefix(f"{kind}/"))


@contextmanager
def _repeatable_read() -> Iterator[None]:
    if connection.in_atomic_block:
        yield  # the caller's transaction is consistent already
    elif connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            # Django's own transactions are IMMEDIATE here and would wait for writers; a deferred one takes a
            # snapshot at its first statement (WAL).
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("COMMIT")
    else:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
