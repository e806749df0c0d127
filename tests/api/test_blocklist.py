"""The blocklist: canonical networks, the limit on large networks, and duplicates."""

from datetime import timedelta

import pytest
from django.utils import timezone

from policies import services
from policies.models import BlocklistEntry
from tests.api.resources import fields_refused

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("203.0.113.7/32", "203.0.113.7"),
        (" 203.0.113.0/24 ", "203.0.113.0/24"),
        ("2001:DB8:0:0::7", "2001:db8::7"),
        ("2001:db8::/32", "2001:db8::/32"),
        ("2001:db8::7/128", "2001:db8::7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.0/120", "203.0.113.0/24"),
    ],
)
def test_a_network_is_stored_in_its_one_spelling(admin, sent, stored):
    assert admin.post("/ip-black-list", {"ip": sent}).json()["ip"] == stored


@pytest.mark.parametrize(
    "ip",
    [
        "203.0.113.7/24",
        "2001:db8::1/32",
        "203.0.113",
        "203.0.113.256",
        "0203.0.113.7",
        "0xcb.0.113.7",
        "203.0.113.0/33",
        "203.0.113.0/-1",
        "203.0.113.0/255.255.255.0",
        "fe80::1%eth0",
        "203.0.113.7:443",
        "[2001:db8::7]",
        "office.example",
        "",
        "203.0.113.7, 203.0.113.8",
        "٢٠٣.0.113.7",
    ],
)
def test_an_invalid_network_is_refused(admin, ip):
    assert fields_refused(admin.post("/ip-black-list", {"ip": ip})) == {"ip"}


@pytest.mark.parametrize("ip", ["0.0.0.0/0", "64.0.0.0/7", "::/0", "2000::/18", "::ffff:0.0.0.0/96"])
def test_a_network_that_is_too_large_is_refused_without_force(admin, ip):
    response = admin.post("/ip-black-list", {"ip": ip})

    assert (response.status_code, response.json()["code"]) == (409, "network-too-large")


@pytest.mark.parametrize("ip", ["10.0.0.0/8", "2000::/19"])
def test_the_largest_network_needs_no_force(admin, ip):
    assert admin.post("/ip-black-list", {"ip": ip}).status_code == 201


def test_a_network_that_is_too_large_is_taken_by_force(admin):
    body = admin.post("/ip-black-list", {"ip": "64.0.0.0/7", "force": True})

    assert body.status_code == 201
    assert "force" not in body.json()


def test_an_entry_does_not_grow_too_large_without_force(admin):
    id_ = admin.post("/ip-black-list", {"ip": "203.0.113.7"}).json()["id"]
    answers = [
        admin.put(f"/ip-black-list/{id_}", body) for body in ({"ip": "64.0.0.0/7"}, {"ip": "64.0.0.0/7", "force": True})
    ]

    assert [answer.status_code for answer in answers] == [409, 200]


@pytest.mark.parametrize("ip", ["203.0.113.7", "203.0.113.7/32", "::ffff:203.0.113.7"])
def test_the_same_network_in_any_spelling_is_a_duplicate(admin, ip):
    admin.post("/ip-black-list", {"ip": "203.0.113.7"})
    response = admin.post("/ip-black-list", {"ip": ip})

    assert (response.status_code, response.json()["code"]) == (409, "duplicate")


def test_an_entry_cannot_become_a_duplicate(admin):
    admin.post("/ip-black-list", {"ip": "203.0.113.7"})
    id_ = admin.post("/ip-black-list", {"ip": "203.0.113.8"}).json()["id"]

    assert admin.put(f"/ip-black-list/{id_}", {"ip": "203.0.113.7"}).json()["code"] == "duplicate"


def test_an_imported_entry_is_no_duplicate_of_a_manual_one(admin):
    services.block_network(actor="feed", network="203.0.113.7", source="import:feed")

    assert admin.post("/ip-black-list", {"ip": "203.0.113.7"}).status_code == 201


def test_an_expired_entry_is_replaced(admin):
    old = services.block_network(actor="alice", network="203.0.113.7", expires_at=timezone.now() - timedelta(seconds=1))

    response = admin.post("/ip-black-list", {"ip": "203.0.113.7"})

    assert response.status_code == 201
    assert not BlocklistEntry.objects.filter(pk=old.pk).exists()


def test_the_source_cannot_be_chosen(admin):
    body = {"ip": "203.0.113.7", "source": "import:feed"}

    assert fields_refused(admin.post("/ip-black-list", body)) == {"source"}
