"""Delete expired rows in small batches: sign-in state, usage counts, notices, hosts that are gone."""

from collections.abc import Callable
from datetime import datetime, timedelta
from importlib import import_module

from django.conf import settings

from accounts import services
from accounts.identity_providers import sessions as provider_sessions
from accounts.links import links
from accounts.remembered_devices import services as remembered_devices
from accounts.sign_in import challenges, hand_off, oidc, passkey_challenges, throttling, wrong_codes
from audit.figures import rollups
from gatewall.publication import nodes
from gatewall.publication.resources import LOGGED
from policies.bans import banning
from webhooks import outbox
from webhooks.mail import queue

EVERY = timedelta(minutes=10)
_USES_KEPT = timedelta(days=30)  # a restored row keeps its usage counts


def _prune_uses(at: datetime) -> int:
    return sum(
        rollups.prune_uses(kind, resource.model.objects.values("pk"), at - _USES_KEPT)
        for kind, resource in LOGGED.items()
    )


_PRUNES: tuple[Callable[[datetime], int], ...] = (
    challenges.prune,
    hand_off.prune,
    passkey_challenges.prune,
    remembered_devices.prune,
    throttling.prune,
    wrong_codes.follow_the_clock,
    services.prune_sessions,
    oidc.prune,
    provider_sessions.prune,
    banning.prune,
    outbox.prune,
    queue.prune,
    links.prune,
    nodes.prune,
    _prune_uses,
)


def tidy(at: datetime) -> int:
    """Delete old rows, at most 1,000 of a kind; return how many. 0 means done."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()  # sessions of the Django admin
    return sum(prune(at) for prune in _PRUNES)
