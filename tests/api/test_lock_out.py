"""The lockout guard: a change that would lock out its author is refused unless forced."""

from datetime import timedelta

import pytest
from django.utils import timezone

from policies import services
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry
from tests.support.history import now, the_rows
from tests.support.proxies import Api, a_token

pytestmark = pytest.mark.django_db

ME = "198.51.100.7"


@pytest.fixture
def me(alice):
    """Return a client of Alice, who comes through the proxy from ``ME`` to office.example."""
    return Api(a_token(alice), **{"X-Forwarded-For": ME, "Host": "office.example"})


def past_the_proxy(alice, **headers):
    return Api(a_token(alice), **headers)


def assert_refused(response):
    assert (response.status_code, response.json()["code"]) == (409, "would-lock-you-out"), response.content
    assert ME in response.json()["detail"]


def soon():
    return (timezone.now() + timedelta(hours=1)).isoformat()


@pytest.mark.parametrize("network", [ME, "198.51.100.0/24", f"::ffff:{ME}"])
def test_blocking_the_callers_own_address_is_refused(me, network):
    before = the_rows(), now()

    assert_refused(me.post("/ip-black-list", {"ip": network}))
    assert_refused(me.post("/ip-black-list", {"ip": network, "expires_at": soon(), "force": False}))

    assert (the_rows(), now()) == before
    assert me.post("/ip-black-list", {"ip": network, "force": True}).status_code == 201


@pytest.mark.parametrize("network", ["198.51.100.8", "203.0.113.0/24", "2001:db8::/32"])
def test_blocking_others_is_accepted(me, network):
    assert me.post("/ip-black-list", {"ip": network}).status_code == 201


def test_an_expired_entry_locks_nobody_out(me):
    entry = {"ip": ME, "expires_at": "2020-01-01T00:00:00Z"}

    assert me.post("/ip-black-list", entry).status_code == 201


def test_force_overrides_the_size_limit_and_the_guard_together(me):
    assert me.post("/ip-black-list", {"ip": "198.0.0.0/7"}).json()["code"] == "network-too-large"
    assert me.post("/ip-black-list", {"ip": "198.0.0.0/7", "force": True}).status_code == 201


@pytest.mark.parametrize("change", [{"ip": "198.51.100.0/24"}, {"expires_at": None}, {"expires_at": soon()}])
def test_changing_an_entry_of_the_blocklist(me, change):
    network = "203.0.113.0/24" if "ip" in change else "198.51.100.0/24"
    expired = None if "ip" in change else timezone.now()
    entry = services.block_network(actor="x", network=network, expires_at=expired)
    before = the_rows()

    assert_refused(me.put(f"/ip-black-list/{entry.pk}", change))

    assert the_rows() == before
    assert me.put(f"/ip-black-list/{entry.pk}", {**change, "force": True}).status_code == 200


def a_protected_caller(**values):
    services.block_network(actor="x", network="198.51.100.0/24")
    return services.allow_network(actor="x", network=ME, **values)


def test_deleting_the_entry_that_protects_the_caller(me):
    entry = a_protected_caller()

    assert_refused(me.delete(f"/ip-white-list/{entry.pk}"))
    assert_refused(me.delete(f"/ip-white-list/{entry.pk}?force=false"))
    assert me.delete(f"/ip-white-list/{entry.pk}?force=yes").status_code == 400

    assert AllowlistEntry.objects.exists()
    assert me.delete(f"/ip-white-list/{entry.pk}?force=true").status_code == 204


@pytest.mark.parametrize("change", [{"ip": "198.51.100.8"}, {"expires_at": "2020-01-01T00:00:00Z"}])
def test_changing_the_entry_that_protects_the_caller(me, change):
    entry = a_protected_caller()

    assert_refused(me.put(f"/ip-white-list/{entry.pk}", change))

    assert me.put(f"/ip-white-list/{entry.pk}", {"remark": "fine"}).status_code == 200
    assert me.put(f"/ip-white-list/{entry.pk}", {**change, "force": True}).status_code == 200


def test_limiting_the_entry_to_another_domain(me, office):
    other = services.register_domain(actor="", name="b.example", access="public", seed=True)
    entry = a_protected_caller()

    assert me.put(f"/ip-white-list/{entry.pk}", {"domain": office.name}).status_code == 200
    assert_refused(me.put(f"/ip-white-list/{entry.pk}", {"domain": other.name}))


def test_domain_changes_that_remove_the_callers_protection_are_refused(me, office):
    wide = services.register_domain(actor="", name="*.example", access="public", seed=True)
    services.remove_domain(office, actor="x")
    a_protected_caller(domain=wide)

    assert_refused(me.post("/authorized-domains", {"name": "office.example"}))
    assert_refused(me.put(f"/authorized-domains/{wide.pk}", {"name": "*.test"}))
    assert_refused(me.delete(f"/authorized-domains/{wide.pk}"))

    assert AuthorizedDomain.objects.get().name == "*.example"
    assert me.put(f"/authorized-domains/{wide.pk}", {"name": "*.test", "force": True}).status_code == 200
    assert me.delete(f"/authorized-domains/{wide.pk}?force=true").status_code == 204
    assert me.post("/authorized-domains", {"name": "office.example", "force": True}).status_code == 201


def test_an_already_blocked_caller_is_not_guarded(me):
    services.block_network(actor="x", network="198.51.100.0/24")

    assert me.post("/ip-black-list", {"ip": ME}).status_code == 201


def test_an_entry_overridden_by_a_more_specific_one_locks_nobody_out(me):
    services.allow_network(actor="x", network=ME)

    assert me.post("/ip-black-list", {"ip": "198.51.100.0/24"}).status_code == 201
    assert_refused(me.post("/ip-black-list", {"ip": ME}))


def test_a_caller_on_this_machine_may_block_one_loopback_address(alice):
    assert past_the_proxy(alice).post("/ip-black-list", {"ip": "127.0.0.1"}).status_code == 201


@pytest.mark.parametrize("header", ["X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via", "X-Forwarded-For"])
def test_a_loopback_peer_that_forwards_is_a_proxy(alice, header):
    value = "127.0.0.1" if header == "X-Forwarded-For" else "x"

    response = past_the_proxy(alice, **{header: value}).post("/ip-black-list", {"ip": "127.0.0.1"})

    assert response.json()["code"] == "would-lock-you-out"


def test_a_caller_that_bypasses_the_proxy_is_judged_by_its_peer_address(alice):
    stranger = past_the_proxy(alice, **{"X-Forwarded-For": ME})

    assert stranger.post("/ip-black-list", {"ip": "192.0.2.9"}, REMOTE_ADDR="192.0.2.9").status_code == 409
    assert stranger.post("/ip-black-list", {"ip": ME}, REMOTE_ADDR="192.0.2.9").status_code == 201


def test_the_guard_agrees_with_the_decision(me, auth):
    """Every accepted change leaves the caller in; every refused one would have locked them out."""
    networks = [ME, "198.51.100.0/24", "198.51.0.0/16", "198.51.100.6/31"]
    for number in range(3):
        services.allow_network(actor="x", network=networks[-1 - number])
        for network in networks:
            BlocklistEntry.objects.all().delete()
            status = me.post("/ip-black-list", {"ip": network}).status_code
            if status == 409:
                me.post("/ip-black-list", {"ip": network, "force": True})
            assert (auth(x_forwarded_for=ME).reason == "client-blocked") == (status == 409), network


def test_the_guard_reads_few_rows_of_a_long_list(me, django_assert_max_num_queries):
    rows = [BlocklistEntry(network=f"10.{n // 250}.{n % 250}.0/24", source="import:feed") for n in range(2000)]
    BlocklistEntry.objects.bulk_create(rows)

    with django_assert_max_num_queries(40):
        assert me.post("/ip-black-list", {"ip": "203.0.113.7"}).status_code == 201


@pytest.mark.parametrize("network", ["127.0.0.0/8", "::1", "::/32"])
def test_blocking_all_of_loopback_needs_force_even_from_this_machine(alice, network):
    here = past_the_proxy(alice)

    refused = here.post("/ip-black-list", {"ip": network})

    assert (refused.status_code, refused.json()["code"]) == (409, "would-lock-you-out")
    assert here.post("/ip-black-list", {"ip": network, "force": True}).status_code == 201


@pytest.mark.parametrize("network", ["127.0.0.1", "127.0.0.0/9", "::2"])
def test_blocking_a_part_of_loopback_needs_no_force_from_this_machine(alice, network):
    assert past_the_proxy(alice).post("/ip-black-list", {"ip": network}).status_code == 201


def test_changing_an_entry_to_all_of_loopback_needs_force(alice):
    entry = services.block_network(actor="x", network="127.0.0.1")
    here = past_the_proxy(alice)

    assert here.put(f"/ip-black-list/{entry.pk}", {"ip": "127.0.0.0/8"}).status_code == 409
    assert here.put(f"/ip-black-list/{entry.pk}", {"ip": "127.0.0.0/8", "force": True}).status_code == 200
    assert here.put(f"/ip-black-list/{entry.pk}", {"remark": "mine"}).status_code == 200
