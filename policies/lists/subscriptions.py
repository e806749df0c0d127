"""Subscriptions to published lists: operators change them, and one host fetches each list when it is due.

A failed download does not change the entries.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from random import SystemRandom
from tempfile import TemporaryFile
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import timezone

from gatewall.engine.segments import blocked_networks_of
from gatewall.kernel.downloads import (
    ANYWHERE,
    PUBLIC,
    DownloadFailed,
    DownloadRefused,
    Reach,
    download,
    require_acceptable,
)
from gatewall.policy import revisions
from policies import rows
from policies.list_files.parsing import MAX_BYTES, Format, ListDoubtful, ListRefused, source_named
from policies.lists.importing import ImportRules, import_list, remove_entries
from policies.models import BlocklistEntry, ListSubscription

logger = logging.getLogger(__name__)

SECONDS = 120.0
"""Timeout of a download."""
_LEASE = timedelta(minutes=30)
_FIRST_RETRY = timedelta(minutes=5)
_JITTER = 0.1
_MAX_CLAIMS = 20
_MAX_FAILURES = 100
_random = SystemRandom()


@revisions.one_at_a_time
def subscribe(*, actor: str, name: str, url: str, **values: Any) -> ListSubscription:
    """Create a subscription, due at once. Raises ValidationError, Duplicate."""
    subscription = ListSubscription(created_by=actor)
    _write(subscription, actor, name=name, url=url, **values)
    return subscription


@revisions.one_at_a_time
def change_subscription(subscription: ListSubscription, *, actor: str, **values: Any) -> ListSubscription:
    """Update a subscription; if anything changes, it is due at once. Raises ValidationError, Gone."""
    subscription = revisions.as_it_is_now(subscription)
    if values.get("name", subscription.name) != subscription.name:
        raise ValidationError({"name": "the name cannot be changed: it identifies the entries of the list"})
    if values.get("url", subscription.url) != subscription.url:
        values["tag"] = ""
    if all(getattr(subscription, name) == value for name, value in values.items()):
        return subscription  # an unchanged row sent back is not a request for a download
    _write(subscription, actor, **values)
    return subscription


@revisions.one_at_a_time
def unsubscribe(subscription: ListSubscription, *, actor: str) -> None:
    """Delete a subscription and its blocklist entries. Raises Gone."""
    subscription = revisions.as_it_is_now(subscription)
    gone = rows.deletion(subscription)
    subscription.delete()
    source = source_named(subscription.name)
    count, entries = remove_entries(source)
    segments = [blocked_networks_of(source)] if count else []
    revisions.advance(*segments, actor=actor, changes=[gone, *entries])


def _write(subscription: ListSubscription, actor: str, **values: Any) -> None:
    values |= {"next_at": timezone.now(), "failures": 0}
    allow_private = values.get("allow_private", subscription.allow_private)
    validate_url(values.get("url", subscription.url), allow_private=allow_private)
    rows.save(subscription, actor=actor, **values)


def validate_url(url: str, *, allow_private: bool) -> None:
    """Raise ValidationError for a URL from which no list would be fetched."""
    try:
        require_acceptable(url, _reach(allow_private))
    except DownloadRefused as refused:
        raise ValidationError({"url": str(refused)}) from None


def fetch_next(at: datetime, should_stop: Callable[[], bool] = lambda: False) -> bool:
    """Fetch one subscribed list that is due; return False if none is. Raises django.db.Error."""
    subscription = _claim(at)
    if subscription is None:
        return False
    try:
        values = _import_download(subscription, at, should_stop)
    except (DownloadRefused, DownloadFailed, ListRefused, OSError) as error:
        words = f"{error}; import it once by hand with --force" if isinstance(error, ListDoubtful) else str(error)
        words = words[:500]
        logger.warning("list %s was not imported: %s", subscription.name, words)
        number = min(subscription.failures + 1, _MAX_FAILURES)
        values = {"failure": words, "failures": number, "next_at": _retry_at(subscription, at)}
    _row_if_unchanged(subscription).update(tried_at=at, **values)
    return True


def _claim(at: datetime) -> ListSubscription | None:
    """Return a due subscription, leased to this host by moving its ``next_at``."""
    enabled = ListSubscription.objects.filter(enabled=True)
    due = [each for each in enabled.order_by("next_at", "id") if _is_due(each, at)]
    for subscription in due[:_MAX_CLAIMS]:
        if _row_if_unchanged(subscription).update(next_at=at + _LEASE):
            subscription.next_at = at + _LEASE
            return subscription
    return None


def _is_due(subscription: ListSubscription, at: datetime) -> bool:
    """Return whether a subscription is due, also if ``next_at`` is too far ahead, because the clock was set back."""
    longest = _interval(subscription) * (1 + _JITTER) + _LEASE
    return not at < subscription.next_at <= at + longest


def _row_if_unchanged(subscription: ListSubscription) -> Any:
    """Return the row, unless it was changed, deleted or claimed since: each of these moves ``next_at``."""
    return ListSubscription.objects.filter(pk=subscription.pk, next_at=subscription.next_at)


def _import_download(subscription: ListSubscription, at: datetime, should_stop: Callable[[], bool]) -> dict[str, Any]:
    """Download and import the list; return the values to store.

    Raises DownloadRefused, DownloadFailed, ListRefused, OSError.
    """
    is_there = BlocklistEntry.objects.filter(source=source_named(subscription.name)).exists()
    known = subscription.tag if is_there else ""
    success = {"succeeded_at": at, "failure": "", "failures": 0, "next_at": at + _with_jitter(_interval(subscription))}
    with (
        TemporaryFile() as file,
        download(subscription.url, reach=_reach(subscription.allow_private), seconds=SECONDS, tag=known) as downloaded,
    ):
        if downloaded.is_unchanged:
            return success
        downloaded.save(file, at_most=MAX_BYTES, should_stop=should_stop)
        file.seek(0)
        imported = import_list(
            file,
            name=subscription.name,
            rules=ImportRules(at=at, trusted=settings.GATEWALL_TRUSTED_PROXIES),
            kind=Format(subscription.format),
            still_wanted=lambda: not should_stop() and _row_if_unchanged(subscription).exists(),
        )
        tag = downloaded.tag if len(downloaded.tag) <= 200 and downloaded.tag.isprintable() else ""
    return {**success, "entries": imported.after, "tag": tag}


def _interval(subscription: ListSubscription) -> timedelta:
    return timedelta(minutes=subscription.interval_minutes)


def _retry_at(subscription: ListSubscription, at: datetime) -> datetime:
    """Return when to retry: exponential backoff, at most the interval."""
    waits = _FIRST_RETRY * 2 ** min(subscription.failures, 12)
    return at + _with_jitter(min(waits, _interval(subscription)))


def _with_jitter(wait: timedelta) -> timedelta:
    """Return the wait with jitter, so that installations do not fetch in lockstep."""
    return wait * _random.uniform(1 - _JITTER, 1 + _JITTER)


def _reach(allow_private: bool) -> Reach:  # noqa: FBT001 - the column of a subscription
    return ANYWHERE if allow_private else PUBLIC
