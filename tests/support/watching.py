"""Detection of an agent in this process: ship the gate's records and ban detected clients."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts.sign_in import events as sign_in_events
from audit.events.recording import EventCount, count_events
from audit.models import SecurityEvent
from audit.storage import ingest
from gatewall.agent.detection import AttackDetection
from gatewall.kernel.clientip import TrustedProxies
from policies.models import BlocklistEntry
from tests.support.proxies import Api, AuthEndpoint
from webhooks import incidents
from webhooks.models import Notice

PROXY = "127.0.0.1"
TRUSTED = TrustedProxies.parse([PROXY, "10.0.0.0/24"])

VISITOR, SCANNER, CGNAT, MONITOR = "198.51.100.20", "203.0.113.66", "100.64.7.7", "192.0.2.53"
SCAN = (
    *("/.git/config", "/.env", "/../../etc/passwd", "/?id=1%27%20UNION%20SELECT%20password%20FROM%20users--"),
    *("/wp-config.php", "/?q=%3Cscript%3Ealert(1)%3C/script%3E", "/?x=;cat%20/etc/passwd", "/.svn/entries"),
    *("/?u=http://169.254.169.254/latest/meta-data/", "/phpmyadmin/", "/.aws/credentials", "/backup.sql", "/.htpasswd"),
)
TOLD = ("client.banned", "client.suspected", "attack.detected")


class Watched:
    """Runs one agent's detection over the spool of a folder."""

    def __init__(self, spool: Path) -> None:
        self.spool = spool
        self.detection = AttackDetection(TRUSTED)

    def look(self) -> None:
        """Ship all records, and run the detectors once."""
        ingest.ship(self.spool, on_stored=self.detection.observe)
        self.detection.turn(timezone.now())


def bans() -> list[str]:
    """Return the banned networks."""
    return sorted(BlocklistEntry.objects.filter(source="auto-ban").values_list("network", flat=True))


def events(*kinds: str) -> list[tuple[str, str | None, int]]:
    """Return kind and count of the events of these kinds, by default all except those of the fixtures."""
    rows = SecurityEvent.objects.order_by("id")
    rows = rows.filter(kind__in=kinds) if kinds else rows
    return [(row.kind, row.client_ip, row.count) for row in rows]


def noticed() -> list[tuple[str, Any, Any]]:
    """Return the incidents so far: type, client, and number of events."""
    incidents.close_ended(timezone.now())
    rows = Notice.objects.order_by("created_at", "type")
    said = [(row.type, row.data) for row in rows]
    return sorted(((kind, data["client_ip"], data["count"]) for kind, data in said), key=str)


def sign_in(client: str, username: str, password: str = "wrong") -> int:
    """Sign in from an address, through the proxy; return the status."""
    body = {"username": username, "password": password}
    return Api().post("/login", body, REMOTE_ADDR=PROXY, HTTP_X_FORWARDED_FOR=client).status_code


def scan(auth: AuthEndpoint, client: str, times: int = 4, **headers: str) -> list[int]:
    """Request missing pages; return the statuses."""
    paths = [path if not number else f"/{number}{path}" for number in range(times) for path in SCAN]
    return [auth(x_forwarded_for=client, x_forwarded_uri=path, **headers).status for path in paths]


def failed_at_once(attempts: Iterable[tuple[str, str]]) -> None:
    """Record failed sign-ins of (address, name) like ``sign_in_events.failed()``, with fewer statements."""
    event_counts: list[EventCount] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            sign_in_events,
            "count_event",
            lambda event, key, mark: event_counts.append(EventCount(event, key, mark=mark)),
        )
        for address, name in attempts:
            sign_in_events.failed(name, address, timezone.now(), flow="login")
    count_events(event_counts)
