"""Subscriptions to published lists. ``policies.lists.fetching`` fetches them."""

from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone

from gatewall.engine.segments import blocked_networks_of
from gatewall.kernel.downloads import ANYWHERE, PUBLIC, DownloadRefused, Reach, require_acceptable
from gatewall.policy import revisions
from policies import rows
from policies.list_files.parsing import source_named
from policies.lists.importing import remove_entries
from policies.models import ListSubscription


def reach_of(subscription: ListSubscription) -> Reach:
    """Return which addresses the list may be downloaded from."""
    return ANYWHERE if subscription.allow_private else PUBLIC


@revisions.one_at_a_time
def subscribe(*, actor: str, name: str, url: str, **values: Any) -> ListSubscription:
    """Create a subscription, due at once. Raises ValidationError, Duplicate."""
    subscription = ListSubscription(created_by=actor)
    _write(subscription, actor, name=name, url=url, **values)
    return subscription


@revisions.one_at_a_time
def change_subscription(subscription: ListSubscription, *, actor: str, **values: Any) -> ListSubscription:
    """Update a subscription; if anything changed it is due at once. Raises ValidationError, Gone."""
    subscription = revisions.as_it_is_now(subscription)
    if values.get("name", subscription.name) != subscription.name:
        raise ValidationError({"name": "the name is that of the entries and stays"})
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
    allowed = values.get("allow_private", subscription.allow_private)
    try:
        require_acceptable(values.get("url", subscription.url), ANYWHERE if allowed else PUBLIC)
    except DownloadRefused as refused:
        raise ValidationError({"url": str(refused)}) from None
    rows.save(subscription, actor=actor, **values)
