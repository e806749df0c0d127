"""The admin pages as those of tests/admin see them, and rows for the log."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine

from audit import ingest
from audit.spool import SpoolWriter
from tests.admin.conftest import decide, pages
from tests.records import a_record

__all__ = ["decide", "pages"]
NOON = datetime(2026, 3, 15, 12, 0, 30, tzinfo=UTC)


@pytest.fixture
def noon(db):
    """Stops the clock; sessions are opened after that."""
    with time_machine.travel(NOON, tick=False):
        yield NOON


@pytest.fixture
def log(tmp_path):
    """Return a function that writes records to the log, with everything that is counted of them."""

    def log(*records):
        writer = SpoolWriter(tmp_path / "log", "node-1")
        for record in records:
            writer.write(record)
        writer.close()
        ingest.ship(tmp_path / "log")

    return log


def ago(number, hours=1.0, **parts):
    """A record of so many hours before noon."""
    return a_record(number, at=(NOON - timedelta(hours=hours)).timestamp(), **parts)


def query_of(url):
    """Return the parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query, keep_blank_values=True).items()}
