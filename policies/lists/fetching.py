"""Fetch subscribed lists when they are due, on one host only.

What cannot be fetched, or is refused as a list, changes nothing: the entries of the last time stay.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from random import SystemRandom
from tempfile import TemporaryFile
from typing import Any

from django.conf import settings

from gatewall.kernel.downloads import DownloadFailed, DownloadRefused, download
from policies.list_files.block_lists import MAX_BYTES, Format, ListRefused, source_named
from policies.lists.importing import ImportRules, import_list
from policies.lists.subscriptions import reach_of
from policies.models import BlocklistEntry, ListSubscription

logger = logging.getLogger(__name__)

SECONDS = 120.0
"""How long a download may take."""
_LEASE = timedelta(minutes=30)
_FIRST_RETRY = timedelta(minutes=5)
_JITTER = 0.1
_LOOKED_AT = 20
_MAX_FAILURES = 100
_random = SystemRandom()


def fetch_next(at: datetime, should_stop: Callable[[], bool] = lambda: False) -> bool:
    """Fetch a list that is due; False if none is. Raises django.db.Error."""
    subscription = _claimed(at)
    if subscription is None:
        return False
    try:
        brought = _brought(subscription, at, should_stop)
    except (DownloadRefused, DownloadFailed, ListRefused, OSError) as error:
        words = str(error)[:500]
        logger.warning("list %s not taken: %s", subscription.name, words)
        number = min(subscription.failures + 1, _MAX_FAILURES)
        brought = {"failure": words, "failures": number, "next_at": _retry_at(subscription, at)}
    _mine(subscription).update(tried_at=at, **brought)
    return True


def _claimed(at: datetime) -> ListSubscription | None:
    """Return a subscription that is due, put off by a lease: of several hosts, one gets it."""
    enabled = ListSubscription.objects.filter(enabled=True)
    due = [each for each in enabled.order_by("next_at", "id") if _is_due(each, at)]
    for subscription in due[:_LOOKED_AT]:
        if _mine(subscription).update(next_at=at + _LEASE):
            subscription.next_at = at + _LEASE
            return subscription
    return None


def _is_due(subscription: ListSubscription, at: datetime) -> bool:
    """True also where ``next_at`` is further away than it ever is put: the clock was set back."""
    longest = _interval(subscription) * (1 + _JITTER) + _LEASE
    return not at < subscription.next_at <= at + longest


def _mine(subscription: ListSubscription) -> Any:
    """Return the row, unless it was changed, deleted or claimed by another since: each moves ``next_at``."""
    return ListSubscription.objects.filter(pk=subscription.pk, next_at=subscription.next_at)


def _brought(subscription: ListSubscription, at: datetime, should_stop: Callable[[], bool]) -> dict[str, Any]:
    """Fetch and import the list; return what is to be noted.

    Raises DownloadRefused, DownloadFailed, ListRefused, OSError.
    """
    is_there = BlocklistEntry.objects.filter(source=source_named(subscription.name)).exists()
    known = subscription.tag if is_there else ""
    noted = {"succeeded_at": at, "failure": "", "failures": 0, "next_at": at + _spread(_interval(subscription))}
    with (
        TemporaryFile() as file,
        download(subscription.url, reach=reach_of(subscription), seconds=SECONDS, tag=known) as downloaded,
    ):
        if downloaded.is_unchanged:
            return noted
        downloaded.save(file, at_most=MAX_BYTES, should_stop=should_stop)
        file.seek(0)
        imported = import_list(
            file,
            name=subscription.name,
            rules=ImportRules(at=at, trusted=settings.GATEWALL_TRUSTED_PROXIES),
            kind=Format(subscription.format),
            still_wanted=lambda: not should_stop() and _mine(subscription).exists(),
        )
        tag = downloaded.tag if len(downloaded.tag) <= 200 and downloaded.tag.isprintable() else ""
    return {**noted, "entries": imported.after, "tag": tag}


def _interval(subscription: ListSubscription) -> timedelta:
    return timedelta(minutes=subscription.interval_minutes)


def _retry_at(subscription: ListSubscription, at: datetime) -> datetime:
    """Return when to try again: soon at first, later each time, never later than usual."""
    waits = _FIRST_RETRY * 2 ** min(subscription.failures, 12)
    return at + _spread(min(waits, _interval(subscription)))


def _spread(wait: timedelta) -> timedelta:
    """Return about this long, so that not all installations ask at once."""
    return wait * _random.uniform(1 - _JITTER, 1 + _JITTER)
