"""``POST /ip-black-list/unban``: many automatic bans are lifted at once, and nothing else."""

import sqlite3
from ipaddress import IPv6Address

import pytest
from django.db import connection

from gatewall.policy import revisions
from policies import services
from policies.models import BlocklistEntry

pytestmark = pytest.mark.django_db


def block(network, source="auto-ban"):
    return services.block_network(actor="test", network=network, source=source)


def unban(client, **body):
    return client.post("/ip-black-list/unban", body)


def left():
    return sorted(BlocklistEntry.objects.values_list("network", "source"))


def test_the_automatic_entries_of_the_addresses_go_in_one_revision(admin):
    first, second = block("192.0.2.1"), block("2001:db8::/64")
    block("192.0.2.2")
    before = revisions.current().revision

    response = unban(admin, addresses=["192.0.2.1", "2001:DB8::1"])

    assert response.status_code == 200
    assert sorted(row["id"] for row in response.json()["lifted"]) == [first.pk, second.pk]
    assert left() == [("192.0.2.2", "auto-ban")]
    assert revisions.current().revision == before + 1


def test_an_entry_made_by_hand_stays_and_is_named(admin):
    block("192.0.2.1")
    entry = block("192.0.2.0/24", source="manual")

    response = unban(admin, addresses=["192.0.2.1"])

    assert response.json()["still_blocked"] == [
        {"address": "192.0.2.1", "id": entry.pk, "ip": "192.0.2.0/24", "source": "manual"}
    ]


def test_all_automatic_entries_are_deleted_and_a_dry_run_only_lists_them(admin):
    block("192.0.2.1"), block("192.0.2.2"), block("192.0.2.3", source="manual")

    tried = unban(admin, all_automatic=True, dry_run=True).json()
    assert (len(tried["lifted"]), len(left())) == (2, 3)
    assert all(row["id"] for row in tried["lifted"])

    unban(admin, all_automatic=True)
    assert left() == [("192.0.2.3", "manual")]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"addresses": []},
        {"addresses": ["192.0.2.0/24"]},
        {"addresses": "192.0.2.1"},
        {"addresses": ["192.0.2.1"] * 1001},
        {"addresses": [1]},
        {"all_automatic": "yes"},
        {"all_automatic": True, "everything": True},
    ],
)
def test_invalid_input_is_refused_and_lifts_no_ban(admin, body):
    block("192.0.2.1")

    assert admin.post("/ip-black-list/unban", body).status_code == 400
    assert left() == [("192.0.2.1", "auto-ban")]


@pytest.fixture
def few_values():
    """Limit SQLite to 1,000 parameters per statement (default: 32,766); restore the limit for later tests."""
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    kind, driver = sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, connection.connection
    before = driver.setlimit(kind, 1000)
    yield
    driver.setlimit(kind, before)


@pytest.mark.usefixtures("few_values")
def test_a_call_stays_below_the_parameter_limit_of_the_database(admin):
    addresses = [str(IPv6Address((0x2001_0DB8 + number * 0x10001 << 96) + 1)) for number in range(10)]
    for address in addresses:
        block(address)

    assert len(unban(admin, addresses=addresses).json()["lifted"]) == 10
    assert left() == []
