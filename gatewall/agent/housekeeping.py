"""Delete expired rows in small batches: sign-in state, usage counts, notices, hosts that are gone."""

from collections.abc import Callable
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from accounts import challenges, services, throttling, wrong_codes
from audit.figures import rollups
from gatewall.engine.model import SubjectKind
from gatewall.publication import nodes
from licensing.models import GitToken, License
from policies import selectors as policies
from policies.bans import banning
from webhooks import outbox

EVERY = timedelta(minutes=10)
_USES_KEPT = timedelta(days=30)  # who brings a deleted row back finds what was counted of it
_USED: dict[str, Callable[[], QuerySet[Any]]] = {
    "ip-black-list": policies.blocked_networks,
    "ip-white-list": policies.allowed_networks,
    "authorized-domains": policies.authorized_domains,
    "geo-block-rules": policies.blocked_countries,
    "waf-rules": policies.waf_rules,
    SubjectKind.USER.value: get_user_model().objects.all,
    SubjectKind.GIT_TOKEN.value: GitToken.objects.all,
    SubjectKind.LICENSE.value: License.objects.all,
}
"""What the access log calls the rows that it counts the uses of, and those there are."""


def _prune_uses(at: datetime) -> int:
    return sum(rollups.prune_uses(kind, rows().values("pk"), at - _USES_KEPT) for kind, rows in _USED.items())


_PRUNES: tuple[Callable[[datetime], int], ...] = (
    challenges.prune,
    throttling.prune,
    wrong_codes.follow_the_clock,
    services.prune_sessions,
    banning.prune,
    outbox.prune,
    nodes.prune,
    _prune_uses,
)


def tidy(at: datetime) -> int:
    """Delete old rows, at most 1,000 of a kind; return how many. There is no more to do after 0."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()  # those of the Django admin
    return sum(prune(at) for prune in _PRUNES)
