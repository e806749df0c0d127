"""Who can enter a path of a host, by the policy in force."""

import time
from collections.abc import Iterator

from django.conf import settings

from gatewall.engine.addresses import IPNetwork, parse_network
from gatewall.engine.messages import Refused
from gatewall.engine.messages import gettext_noop as _
from gatewall.gate import subrequest
from gatewall.gate.build import read_only_ports
from gatewall.publication.control_plane import sources_of
from gatewall.replay.entrants import MAX_LISTED, Entrants, entrants
from gatewall.replay.explanation import MadeUpRequest, as_subrequest
from policies.models import AccessRule, AllowlistEntry

NOBODY_ELSE = "192.0.2.1"
"""The address of an ordinary visitor: from a documentation range (RFC 5737), which is nobody's network."""


class NotReadable(Refused):
    """The gate cannot parse the request, or has no policy."""


def who_can_enter(host: str, path: str, method: str) -> Entrants:
    """Return who can enter the path with this method. Texts are latin-1. Raises NotReadable."""
    config = settings.CONFIG
    policies, countries = sources_of(config)
    policy = policies.current()
    if policy is None:
        raise NotReadable(_("there is no policy"))
    made_up = MadeUpRequest(client=NOBODY_ELSE, host=host, method=method, uri=path, scheme="https")
    request = subrequest.forward(as_subrequest(made_up, config.trusted_proxies), config.trusted_proxies, time.time())
    if request.fault:
        raise NotReadable(_("the gate cannot read such a request: %(fault)s"), fault=request.fault)
    return entrants(request, policy, read_only_ports(config, countries), _networks())


def _networks() -> Iterator[IPNetwork]:
    """Yield the networks of the allowlist and of enabled access rules."""
    rows = AllowlistEntry.objects.order_by("id").values_list("network", flat=True)
    for text in rows[:MAX_LISTED]:
        yield parse_network(text)
    for texts in AccessRule.objects.filter(enabled=True).exclude(networks=[]).values_list("networks", flat=True):
        yield from map(parse_network, texts)
