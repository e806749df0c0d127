"""An agent's watch in this process: what the gate answered is shipped, and whom the detectors find is banned."""

from django.utils import timezone

from audit import ingest
from audit.models import SecurityEvent
from gatewall.clientip import TrustedProxies
from gatewall.shipping.watch import Watch
from policies.models import BlocklistEntry
from tests.wall import Api

PROXY = "127.0.0.1"
TRUSTED = TrustedProxies.parse([PROXY, "10.0.0.0/24"])


class Watched:
    """Drives one agent's watch over the spool of a folder."""

    def __init__(self, spool) -> None:
        self.spool = spool
        self.watch = Watch(TRUSTED)

    def look(self) -> None:
        """Ship what is there, and take a turn."""
        ingest.ship(self.spool, saw=self.watch.saw)
        self.watch.turn(timezone.now())


def bans():
    """The networks that are banned."""
    return sorted(BlocklistEntry.objects.filter(source="auto-ban").values_list("network", flat=True))


def events(*kinds):
    """The events of these kinds, or of all but what making the cast left, as kind and how often."""
    rows = SecurityEvent.objects.order_by("id")
    rows = rows.filter(kind__in=kinds) if kinds else rows
    return [(row.kind, row.client_ip, row.count) for row in rows]


def sign_in(client, username, password="wrong"):
    """Try to sign in from an address, through the proxy; the status."""
    body = {"username": username, "password": password}
    return Api().post("/login", body, REMOTE_ADDR=PROXY, HTTP_X_FORWARDED_FOR=client).status_code
