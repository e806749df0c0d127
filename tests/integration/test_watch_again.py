"""Detection of failed sign-ins: bans, and no repeated bans or bans for old failures."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection

from accounts.sign_in import events as sign_in_events
from audit.event_kinds import EventKind
from audit.events import selectors
from audit.events.recording import Event, record_event
from audit.models import SecurityEvent
from gatewall.agent import detection
from gatewall.kernel.detectors import Detector, Verdict
from gatewall.policy import system_settings
from policies import services
from policies.bans import banning
from policies.bans.banning import unban
from policies.models import BlocklistEntry
from tests.support.cast import MOMENT, an_address
from tests.support.proxies import PASSWORD, a_user
from tests.support.watching import SCANNER, TOLD, VISITOR, bans, events, failed_at_once, noticed, scan, sign_in

pytestmark = pytest.mark.django_db


def test_brute_force_is_banned(watched):
    a_user("bob")
    SecurityEvent.objects.all().delete()

    assert [sign_in(SCANNER, "bob") for _ in range(20)] == [401] * 10 + [429] * 10
    watched.look()

    assert bans() == [SCANNER]
    assert events() == [
        ("login.failed", SCANNER, 10),
        ("login.locked", SCANNER, 10),
        ("client.banned", SCANNER, 1),
        ("policy.changed", None, 1),
    ]
    assert SecurityEvent.objects.get(kind="client.banned").detail["detector"] == "brute-force"
    assert noticed() == [("client.banned", SCANNER, 1)]


def test_a_user_who_forgot_their_password_is_not_banned(watched, clock):
    a_user("bob")
    for _ in range(9):
        sign_in(VISITOR, "bob")
        clock.shift(5)
        watched.look()
    assert sign_in(VISITOR, "bob", PASSWORD) == 200
    watched.look()

    assert (bans(), events(*TOLD), noticed()) == ([], [], [])


def test_passwords_typed_as_user_names_count_as_different_accounts(watched):
    for number in range(10):
        sign_in(SCANNER, f"a secret {number}")
    watched.look()

    assert bans() == [SCANNER]
    assert SecurityEvent.objects.get(kind="client.banned").detail["accounts"] == 10


def test_the_right_password_of_a_user_without_admin_rights_is_no_failure(watched):
    for number in range(25):
        sign_in_events.failed(f"account-{number}", SCANNER, MOMENT, flow="admin-login", why="admin-required")
    watched.look()

    assert (bans(), events(*TOLD), noticed()) == ([], [], [])


def test_an_owner_locked_out_by_failures_of_others_is_not_banned(watched):
    system_settings.change(actor="alice", login_failures_per_account=20, brute_force_failures=25)
    a_user("bob")
    for number in range(20):
        sign_in(f"203.0.113.{number}", "bob")

    assert [sign_in(VISITOR, "bob", PASSWORD) for _ in range(30)] == [429] * 30
    watched.look()

    assert bans() == []


def test_a_restarted_agent_does_not_repeat_a_ban(watched, another_agent):
    a_user("bob")
    for _ in range(20):
        sign_in(SCANNER, "bob")
    watched.look()
    another_agent.look()

    assert len(events("client.banned")) == 1
    assert bans() == [SCANNER]
    assert noticed() == [("client.banned", SCANNER, 1)]


def test_an_unbanned_client_is_not_banned_for_earlier_failures(watched, another_agent):
    a_user("bob")
    for _ in range(20):
        sign_in(SCANNER, "bob")
    watched.look()
    unban([an_address(SCANNER)], actor="alice", at=MOMENT)
    watched.look()
    another_agent.look()

    assert (bans(), len(events("client.banned"))) == ([], 1)
    assert noticed() == [("client.banned", SCANNER, 1), ("client.banned.ended", SCANNER, 1)]


def test_records_shipped_after_a_long_outage_cause_no_ban(auth, watched, waf, clock):
    scan(auth, SCANNER)
    clock.shift(timedelta(hours=3))
    watched.look()

    assert bans() == []
    assert [event.detail["why"] for event in SecurityEvent.objects.filter(kind="client.suspected")] == ["too-late"]


def test_in_monitor_mode_clients_are_reported_and_not_banned(auth, watched, waf):
    system_settings.change(actor="alice", auto_ban_mode="monitor")
    scan(auth, SCANNER)
    watched.look()

    assert bans() == []
    assert [event.detail["why"] for event in SecurityEvent.objects.filter(kind="client.suspected")] == ["monitor"]


def test_switched_off_detectors_do_nothing(auth, watched, waf):
    system_settings.change(actor="alice", auto_ban_mode="off")
    scan(auth, SCANNER)
    watched.look()

    assert (bans(), events(*TOLD), noticed()) == ([], [], [])


def test_settings_determine_the_threshold_and_length_of_a_ban(watched):
    system_settings.change(actor="alice", brute_force_failures=5, auto_ban_minutes=3)
    a_user("bob")
    for _ in range(5):
        sign_in(SCANNER, "bob")
    watched.look()

    assert BlocklistEntry.objects.get(network=SCANNER).expires_at == MOMENT + timedelta(minutes=3)


def test_bans_that_are_long_over_are_deleted_and_no_others(clock):
    services.block_network(actor="alice", network="192.0.2.9", expires_at=MOMENT + timedelta(hours=1))
    for network in ("192.0.2.1", "192.0.2.2"):
        hours = 1 if network.endswith("1") else 40
        until = MOMENT + timedelta(hours=hours)
        services.block_network(actor="auto-ban", network=network, source="auto-ban", expires_at=until)
    clock.shift(timedelta(hours=26))

    assert [banning.prune(MOMENT + timedelta(hours=26)) for _ in range(2)] == [1, 0]
    assert sorted(BlocklistEntry.objects.values_list("network", flat=True)) == ["192.0.2.2", "192.0.2.9"]


def test_a_clock_that_is_set_back_counts_no_failure_twice(watched, clock):
    a_user("bob")
    for _ in range(9):
        sign_in(SCANNER, "bob")
    watched.look()
    for _ in range(4):
        clock.shift(timedelta(minutes=5))
        watched.look()
    clock.shift(-timedelta(minutes=20))
    for _ in range(3):
        watched.look()
        clock.shift(2)

    assert (bans(), watched.detection._verdicts) == ([], [])


def test_the_number_of_failed_sign_ins_read_is_limited(watched, monkeypatch):
    monkeypatch.setattr(selectors, "MOST_ROWS", 5)
    failed_at_once([(SCANNER, f"name-{number}") for number in range(3)])
    failed_at_once([(f"203.0.113.{number}", "bob") for number in range(8)])

    assert len(selectors.failed_sign_ins(MOMENT - timedelta(days=1))) == 5
    for _ in range(3):
        watched.look()
    assert len(watched.detection._counted) == 5


def test_verdicts_above_the_limit_wait_for_the_next_turn(watched, clock, monkeypatch):
    monkeypatch.setattr(detection, "_VERDICTS_AT_ONCE", 2)
    system_settings.change(actor="alice", brute_force_failures=5)
    a_user("bob")
    failed_at_once([(f"203.0.113.{number}", "bob") for number in range(3) for _ in range(5)])

    numbers = []
    for _ in range(3):
        watched.look()
        clock.shift(2)
        numbers.append(len(bans()))

    assert numbers == [2, 3, 3]


@pytest.mark.django_db(transaction=True)
def test_agents_that_find_an_attack_simultaneously_record_one_event():
    verdict = Verdict(Detector.DISTRIBUTED_STUFFING, None, None, MOMENT.timestamp(), MOMENT.timestamp(), {})

    def tell(_):
        try:
            detection._record_attack(verdict)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as agents:
        list(agents.map(tell, range(16)))

    assert len(events("attack.detected")) == 1


def test_events_from_before_a_clock_was_set_back_do_not_suppress_new_ones(watched, another_agent, clock):
    a_user("bob")
    attack = [(f"203.0.113.{number}", f"account{number}") for number in range(150)]
    clock.shift(timedelta(days=2))
    ahead = MOMENT + timedelta(days=2)
    record_event(Event(EventKind.CLIENT_BANNED, ahead, SCANNER))
    record_event(Event(EventKind.ATTACK_DETECTED, ahead))
    clock.shift(-timedelta(days=2))

    failed_at_once(attack)
    for _ in range(20):
        sign_in(SCANNER, "bob")
    watched.look()
    another_agent.look()

    assert (bans(), len(events("client.banned")), len(events("attack.detected"))) == ([SCANNER], 2, 2)


def test_a_ban_from_before_a_clock_was_set_back_is_lifted(clock):
    for days, network in ((2, "192.0.2.1"), (0, "192.0.2.2")):
        clock.shift(timedelta(days=days))
        services.block_network(
            actor="auto-ban", network=network, source="auto-ban", expires_at=MOMENT + timedelta(days=days, hours=1)
        )
        clock.shift(-timedelta(days=days))

    assert banning.prune(MOMENT) == 1
    assert bans() == ["192.0.2.2"]


def test_sign_ins_that_failed_while_a_long_spool_was_shipped_count(watched, clock):
    a_user("bob")
    watched.look()
    clock.shift(10)
    assert [sign_in(SCANNER, "bob") for _ in range(20)] == [401] * 10 + [429] * 10
    clock.shift(timedelta(minutes=8))
    watched.look()
    watched.look()

    assert bans() == [SCANNER]
    assert events("client.banned") == [("client.banned", SCANNER, 1)]
