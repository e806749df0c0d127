"""The registration of the first domain returns a warning with the hosts that are refused from then on."""

from datetime import timedelta

import pytest
from django.utils import timezone

from audit.spool.writer import SpoolWriter
from audit.storage import ingest
from tests.support.records import a_record

pytestmark = pytest.mark.django_db

MODE = "authorized_domains_mode is now registered: other hosts are refused"
SENTENCE = "hosts that were requested in the last hour and are now refused: "
HOUR = timedelta(hours=1)


@pytest.fixture
def asked(tmp_path):
    """Return a function that ships records of requests to these hosts, by number, from some time ago."""
    ids = iter(range(1, 10_000))

    def asked(hosts, ago=timedelta(minutes=5)):
        writer = SpoolWriter(tmp_path / "spool", "node-1")
        at = (timezone.now() - ago).timestamp()
        for host, times in hosts.items():
            for _ in range(times):
                writer.write(a_record(next(ids), at=at, host=host))
        writer.close()
        ingest.ship(tmp_path / "spool")

    return asked


def warnings(admin, name="office.example"):
    return admin.post("/authorized-domains", {"name": name}).json().get("warnings")


def test_the_most_frequent_unregistered_hosts_are_named_first(admin, asked):
    asked({"a.example": 1, "b.example": 3, "office.example": 9, "[2001:db8::1]": 2, None: 5})

    assert warnings(admin) == [MODE, f"{SENTENCE}b.example, [2001:db8::1], a.example"]


def test_a_wildcard_covers_the_hosts_below_it(admin, asked):
    asked({"office.example": 1, "www.office.example": 2, "a.b.office.example": 3})

    assert warnings(admin, "*.office.example") == [MODE, f"{SENTENCE}office.example"]


def test_hosts_of_installation_domains_are_not_named(admin, asked, office):
    asked({"office.example": 4, "localhost": 2})

    assert warnings(admin, "localhost") == [MODE]


def test_hosts_of_the_guard_page_are_not_named(admin, asked, settings):
    settings.GATEWALL_PUBLIC_URL, settings.GATEWALL_OTHER_PUBLIC_URLS = "https://wall.example", ("https://b.example",)
    asked({"wall.example": 9, "b.example": 9})

    assert warnings(admin, "app.wall.example") == [MODE]


def test_older_requests_are_not_named(admin, asked):
    asked({"early.example": 3}, ago=HOUR + timedelta(minutes=2))

    assert warnings(admin) == [MODE]


def test_no_more_than_twenty_are_named(admin, asked):
    asked({f"h{number:02}.example": 30 - number for number in range(25)})

    _mode, sentence = warnings(admin)

    assert sentence.removeprefix(SENTENCE) == ", ".join(f"h{n:02}.example" for n in range(20)) + " and 5 others"


def test_the_second_domain_warns_of_nothing(admin, asked):
    asked({"a.example": 1})
    warnings(admin)

    assert warnings(admin, "second.example") is None
