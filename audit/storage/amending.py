"""Add amendments to rows of the access log, in the transaction that stores them."""

import json
from collections.abc import Collection
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from audit.models import AccessLog, WaitingAmendment
from audit.spool.amendments import Amendment

_WAITING = timedelta(days=1)
"""How long an amendment waits for its row: an unreadable segment may become readable later."""
_IS_WAITING = "SELECT 1 FROM audit_waitingamendment LIMIT 1"
_AMEND = "UPDATE audit_accesslog SET shadow = %s WHERE decision_id = %s AND at = %s"


def amend(amendments: Collection[Amendment], stored: Collection[UUID]) -> None:
    """Add amendments to their rows; ``stored`` are the rows of this transaction. Call it after storing them.

    An amendment whose row is missing waits for it, and is dropped after a day: its row may have been deleted.
    """
    _amend_all([each for each in amendments if each.decision_id in stored])
    late = [each for each in amendments if each.decision_id not in stored]
    missing = [each for each in late if not _rows_of(each).update(shadow=each.shadow)]
    WaitingAmendment.objects.bulk_create(map(_waiting, missing), ignore_conflicts=True)
    if stored or missing:
        _amend_waiting(stored)


def _amend_waiting(stored: Collection[UUID]) -> None:
    """Add the amendments that waited for the rows of this transaction, and drop old amendments."""
    with connection.cursor() as cursor:  # in every batch: Django takes longer to build the statement than to run it
        cursor.execute(_IS_WAITING)
        if cursor.fetchone() is None:
            return
    if found := list(WaitingAmendment.objects.filter(decision_id__in=stored)):
        _amend_all([Amendment(each.decision_id, each.at, each.shadow) for each in found])
        WaitingAmendment.objects.filter(pk__in=[each.pk for each in found]).delete()
    WaitingAmendment.objects.filter(at__lt=timezone.now() - _WAITING).delete()


def _amend_all(amendments: Collection[Amendment]) -> None:
    if not amendments:
        return
    values = [(json.dumps(each.shadow, separators=(",", ":")), *_key_of(each)) for each in amendments]
    with connection.cursor() as cursor:
        cursor.executemany(_AMEND, values)


def _key_of(amendment: Amendment) -> tuple[Any, Any]:
    """Return id and time as the database stores them."""
    if connection.vendor == "postgresql":
        return amendment.decision_id, amendment.at
    return amendment.decision_id.hex, connection.ops.adapt_datetimefield_value(amendment.at)


def _rows_of(amendment: Amendment) -> Any:
    return AccessLog.objects.filter(decision_id=amendment.decision_id, at=amendment.at)


def _waiting(amendment: Amendment) -> WaitingAmendment:
    return WaitingAmendment(decision_id=amendment.decision_id, at=amendment.at, shadow=amendment.shadow)
