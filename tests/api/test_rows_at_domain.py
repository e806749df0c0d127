"""The newest rows of a domain: bounded cost, and the time before which rows may be missing."""

import pytest

from audit.log import at_domain
from audit.models import AccessLog
from tests.support.cast import NOW
from tests.support.records import a_record

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def newest(name, most):
    found, since = at_domain.newest_values(name, AccessLog.objects.all(), ("at", "path"), most)
    return [path for _at, path in found], since and since.timestamp()


@pytest.fixture
def rows(log):
    """Record one row of a host, and newer rows of another host."""
    others = [a_record(number, at=NOW - number, host="busy.example", path=f"/{number}") for number in range(10)]
    log(*others, a_record(10, at=NOW - 10, host="tv.home.example", path="/tv"))


def test_a_rare_host_is_found_by_its_index_beside_busy_ones(rows, monkeypatch):
    monkeypatch.setattr(at_domain, "SCANS", 1)

    assert newest("tv.home.example", 1) == (["/tv"], None)
    assert newest("busy.example", 3) == (["/0", "/1", "/2"], NOW - 2)


def test_hosts_below_a_wildcard_are_scanned_for_within_a_budget(rows, monkeypatch):
    monkeypatch.setattr(at_domain, "SCANS", 11)
    assert newest("*.home.example", 1) == (["/tv"], None)

    monkeypatch.setattr(at_domain, "SCANS", 5)
    assert newest("*.home.example", 1) == ([], NOW - 4)
    assert newest("*.home.example", 2) == ([], NOW - 9)
    assert newest("*.home.example", 3) == (["/tv"], None)


def test_a_wildcard_is_not_for_its_own_domain(log):
    log(a_record(1, host="home.example", path="/"), a_record(2, host="a.home.example", path="/a"))

    assert newest("*.home.example", 5) == (["/a"], None)
