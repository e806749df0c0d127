"""The operator pages as an admin sees them, and rows for the log."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from audit.spool.writer import SpoolWriter
from audit.storage import ingest
from tests.admin.conftest import Pages, decide, pages
from tests.support.proxies import enter_admin_site
from tests.support.records import a_record
from tests.support.spool_shipping import spooled

__all__ = ["decide", "pages"]
NOON = datetime(2026, 3, 15, 12, 0, 30, tzinfo=UTC)
ME = "198.51.100.7"


@pytest.fixture
def noon(db):
    """Stop the clock before any session is opened; return the time."""
    with time_machine.travel(NOON, tick=False):
        yield NOON


@pytest.fixture
def log(tmp_path):
    """Return a function that writes records to the log, with their roll-ups."""

    def log(*records):
        writer = SpoolWriter(tmp_path / "log", "node-1")
        for record in records:
            writer.write(record)
        writer.close()
        ingest.ship(tmp_path / "log")

    return log


@pytest.fixture
def visits(auth, settings):
    """Return a function that asks the gate, ships its records to the log and returns the decision id."""

    def visit(**headers):
        answer = auth(**headers)
        ingest.ship(settings.GATEWALL_HOME / "spool")
        return answer.headers["X-Gatewall-Decision-Id"]

    return visit


@pytest.fixture
def behind_proxy(alice):
    """Return the pages as Alice sees them through the proxy, from ``ME``."""
    browser = Pages(Client(enforce_csrf_checks=True, headers={"X-Forwarded-For": ME, "Host": "testserver"}))
    enter_admin_site(browser.client, alice)
    return browser


def ago(number, hours=1.0, **parts):
    """Return a record from this many hours before noon."""
    return a_record(number, at=(NOON - timedelta(hours=hours)).timestamp(), **parts)


def query_of(url):
    """Return the parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query, keep_blank_values=True).items()}


@pytest.fixture
def record(tmp_path, bob):
    """Record three answers: Bob let in from two addresses, and one anonymous visitor who was challenged."""
    now, subject = timezone.now().timestamp(), {"kind": "user", "id": bob.pk, "name": "Bob"}
    let_in = {"status": 200, "outcome": "allow", "reason": "session-valid", "rules": [], "decided_by": None}
    asked = {"status": 401, "outcome": "challenge", "reason": "credential-missing", "rules": [], "decided_by": None}
    rows = [
        a_record(1, at=now - 60, subject=subject, policy_revision=0, **let_in),
        a_record(2, at=now - 50, subject=subject, policy_revision=0, client_ip="203.0.113.9", **let_in),
        a_record(3, at=now - 40, subject=None, credential=None, policy_revision=0, path="/<b>evil", **asked),
    ]
    spooled(tmp_path / "spool", rows)
    ingest.ship(tmp_path / "spool")
