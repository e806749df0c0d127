"""Delete expired rows in small batches: sign-in state, usage counts, notices, hosts that no longer report."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from importlib import import_module

from django.conf import settings
from django.db.models import Model, QuerySet

from accounts import services
from accounts.models import AccountLink, Challenge, HandOff, ProviderSignIn, UsedLogoutToken, UsedPasskeyChallenge
from accounts.remembered_devices import services as remembered_devices
from accounts.sign_in import throttling, wrong_codes
from audit.figures import rollups
from gatewall.publication import nodes
from gatewall.publication.resources import LOGGED
from policies.bans import banning
from webhooks import outbox
from webhooks.mail import queue

EVERY = timedelta(minutes=10)
_AT_ONCE = 1000
_USES_KEPT = timedelta(days=30)  # a restored row keeps its usage counts
_EXPIRING: tuple[type[Model], ...] = (
    *(Challenge, HandOff, UsedPasskeyChallenge, ProviderSignIn, UsedLogoutToken, AccountLink),
)
"""Models whose rows nobody needs after their ``expires_at``."""


def delete_expired(model: type[Model], at: datetime) -> int:
    """Delete expired rows of a model, at most 1,000, the oldest first; return how many."""
    rows: QuerySet[Model] = QuerySet(model)
    expired = rows.filter(expires_at__lte=at).order_by("expires_at").values_list("pk", flat=True)
    return rows.filter(pk__in=list(expired[:_AT_ONCE])).delete()[0]


def _prune_uses(at: datetime) -> int:
    return sum(
        rollups.prune_uses(kind, resource.model.objects.values("pk"), at - _USES_KEPT)
        for kind, resource in LOGGED.items()
    )


_PRUNES: tuple[Callable[[datetime], int], ...] = (
    *(partial(delete_expired, model) for model in _EXPIRING),
    remembered_devices.prune,
    throttling.prune,
    wrong_codes.follow_the_clock,
    services.prune_sessions,
    banning.prune,
    outbox.prune,
    queue.prune,
    nodes.prune,
    _prune_uses,
)


def tidy(at: datetime) -> int:
    """Delete old rows, at most 1,000 of a kind; return how many. 0 means done."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()  # sessions of the Django admin
    return sum(prune(at) for prune in _PRUNES)
