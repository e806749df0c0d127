"""Write many manual entries of the blocklist or the allowlist in one revision."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from django.utils import timezone

from gatewall.engine.segments import blocked_networks_of
from gatewall.engine.snapshot import Segment
from gatewall.kernel.changes import Change, describe, difference
from gatewall.kernel.clientip import Caller
from gatewall.policy import revisions
from policies import rows
from policies.history.lockout import refuse_blocking_loopback
from policies.models import MANUAL, BlocklistEntry
from policies.services import refuse_too_large

_BATCH = 500
Values = Mapping[str, Any]


@revisions.one_at_a_time
def write_entries(
    model: Any,
    *,
    actor: str,
    delete: Iterable[Any],
    change: Iterable[tuple[Any, Values]],
    create: Iterable[Values],
    caller: Caller | None = None,
    force: bool = False,
) -> None:
    """Delete, change and create entries of one list with validated values; expired duplicates are replaced.

    Without a lockout guard. Raises NetworkTooLarge, WouldLockYouOut for all of loopback, unless forced.
    """
    created = [model(created_by=actor, **values) for values in create]
    segment: str = Segment.ALLOWED_NETWORKS
    if model is BlocklistEntry:
        segment = blocked_networks_of(MANUAL)
        for entry in created:
            refuse_too_large(entry.network, force=force)
            refuse_blocking_loopback(caller, entry.network, force=force)
    gone = [*delete, *_expired(model, created)]
    changes: list[Change | None] = [rows.deletion(entry) for entry in gone]
    for chunk in _chunks(entry.pk for entry in gone):
        model.objects.filter(pk__in=chunk).delete()
    changes += _change(model, list(change))
    model.objects.bulk_create(created, batch_size=_BATCH)
    changes += [difference(None, describe(entry)) for entry in created]
    revisions.advance(segment, actor=actor, changes=changes)


def _change(model: Any, entries: list[tuple[Any, Values]]) -> list[Change | None]:
    before = [describe(entry) for entry, _values in entries]
    for entry, values in entries:
        for name, value in values.items():
            setattr(entry, name, value)
    fields = sorted({name for _entry, values in entries for name in values})
    if fields:
        model.objects.bulk_update([entry for entry, _values in entries], fields, batch_size=_BATCH)
    return [difference(old, describe(entry)) for old, (entry, _values) in zip(before, entries, strict=True)]


def _expired(model: Any, created: list[Any]) -> Iterator[Any]:
    """Yield the expired entries that are equal to an entry to be created."""
    same = model.recorded.same_entry
    places = {tuple(getattr(entry, name) for name in same) for entry in created}
    expired = model.objects.filter(expires_at__lte=timezone.now())
    for chunk in _chunks(entry.network for entry in created):
        for entry in expired.filter(network__in=chunk):
            if tuple(getattr(entry, name) for name in same) in places:
                yield entry


def _chunks(values: Iterable[Any]) -> Iterator[list[Any]]:
    left = iter(values)
    while chunk := list(islice(left, _BATCH)):
        yield chunk
