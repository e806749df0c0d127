"""Detection of distributed attacks: their events, and the limit on the number of bans."""

from datetime import timedelta

import pytest

from audit.models import SecurityEvent
from gatewall.kernel.detectors import Detector, network_of
from gatewall.policy import system_settings
from policies import services
from policies.bans import banning
from policies.bans.banning import Offense
from tests.support.cast import MOMENT, an_address
from tests.support.form import by_form
from tests.support.proxies import a_user
from tests.support.watching import SCANNER, TOLD, VISITOR, bans, events, failed_at_once, noticed, sign_in

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("many", [by_form(full=500, default=150)])
def test_a_stuffing_run_from_many_addresses_is_one_event_and_its_clients_are_banned(watched, clock, many):
    """Each address tries three accounts: too few for a ban by itself, but not a mistake during an attack."""
    SecurityEvent.objects.all().delete()
    addresses = [f"203.0.{number // 250}.{number % 250 + 1}" for number in range(many)]
    for account in range(3):
        failed_at_once([(address, f"{address}-{account}") for address in addresses])
    failed_at_once([(f"198.51.100.{number}", f"person-{number}") for number in range(40)])  # these users mistype
    watched.look()

    assert bans() == sorted(addresses)
    kinds = [kind for kind, *_ in events(*TOLD)]
    assert (kinds.count("attack.detected"), kinds.count("client.banned"), len(kinds)) == (1, many, many + 1)
    attack = SecurityEvent.objects.get(kind="attack.detected")
    assert (attack.severity, attack.client_ip, attack.detail["detector"]) == ("critical", None, "distributed-stuffing")
    assert [number for _, _, number in events("policy.changed")] == [1]
    begun = [("attack.detected", None, 1), ("client.banned", events("client.banned")[0][1], many)]
    assert noticed() == begun  # and not one notice per ban
    clock.shift(timedelta(hours=1))
    assert noticed() == sorted([*begun, *((f"{kind}.ended", client, count) for kind, client, count in begun)], key=str)


def test_a_stuffing_run_seen_by_two_agents_is_one_event(watched, another_agent):
    failed_at_once([(f"203.0.113.{number}", f"account{number}") for number in range(150)])
    watched.look()
    another_agent.look()

    assert len(events("attack.detected")) == 1
    assert noticed() == [("attack.detected", None, 1)]
    assert bans() == []


@pytest.mark.parametrize("minutes", [by_form(full=40, default=20)])
def test_a_stuffing_run_that_goes_on_is_one_incident_until_it_ends(watched, clock, minutes):
    for minute in range(minutes):
        for account in range(3):
            failed_at_once([(f"203.0.{minute}.{each}", f"person-{minute}-{each}-{account}") for each in range(12)])
        watched.look()
        clock.shift(60)
        assert not [kind for kind, *_ in noticed() if kind.endswith("ended")]

    assert len(bans()) > 10 * minutes
    kinds = ["attack.detected", "client.banned"]
    assert [kind for kind, *_ in noticed()] == kinds
    clock.shift(timedelta(hours=1))
    assert [kind for kind, *_ in noticed()] == sorted([*kinds, *(f"{kind}.ended" for kind in kinds)])


def test_bans_that_are_over_make_room_for_new_ones(watched, clock, monkeypatch):
    monkeypatch.setattr(banning, "MAX_BANS", 2)
    for number in (1, 2):
        services.block_network(actor="auto-ban", network=f"192.0.2.{number}", source="auto-ban", expires_at=MOMENT)
    clock.shift(1)

    def ban(*clients):
        addresses = map(an_address, clients)
        offenses = [Offense(network_of(each), each, Detector.STUFFING, MOMENT, MOMENT, {}) for each in addresses]
        return len(banning.ban(offenses, until=MOMENT + timedelta(hours=1)))

    assert (ban(SCANNER), bans()) == (1, ["192.0.2.2", SCANNER])
    assert (ban(VISITOR, "192.0.2.9"), bans()) == (1, [VISITOR, SCANNER])
    assert [event.detail["why"] for event in SecurityEvent.objects.filter(kind="client.suspected")] == ["too-many-bans"]


def test_the_number_of_bans_is_limited(watched, monkeypatch):
    monkeypatch.setattr(banning, "MAX_BANS", 1)
    system_settings.change(actor="alice", brute_force_failures=5)
    a_user("bob")
    for client in (SCANNER, VISITOR):
        for _ in range(5):
            sign_in(client, "bob")
    watched.look()

    assert bans() == [SCANNER]
    assert [event.detail["why"] for event in SecurityEvent.objects.filter(kind="client.suspected")] == ["too-many-bans"]
