"""Security events recorded by the agent: refused requests, gaps, rejected policies, untrusted proxies, clock jumps."""

import logging
import os
import time
from datetime import timedelta

import pytest
import time_machine
from django.core.management import call_command
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from audit.models import GapKind, SecurityEvent
from audit.storage import ingest, retention
from gatewall.agent import host_events
from gatewall.agent.agent import Agent
from gatewall.agent.host_events import HostEvents
from gatewall.agent.log_shipper import LogShipper
from gatewall.gate.untrusted import FOLDER, UntrustedPeers
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.snapshot.notification import AgentLock
from gatewall.snapshot.worker_report import WorkerReport
from policies import services
from policies.models import BlocklistEntry
from tests.support.cast import CLIENT, MOMENT, NOW, TRUSTED, a_subrequest
from tests.support.records import a_record
from tests.support.spool_files import losing
from tests.support.spool_shipping import spooled

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "spool"


def found(kind):
    return list(SecurityEvent.objects.filter(kind=kind).order_by("id"))


def test_refusals_of_a_minute_client_and_reason_are_one_event_that_shows_the_first(folder):
    minute = NOW - NOW % 60
    refused = [a_record(number, at=minute + number, path=f"/{number}") for number in (2, 1, 3)]
    others = [
        a_record(4, at=minute + 60),
        a_record(5, at=minute, client_ip="192.0.2.1"),
        a_record(6, at=minute, reason="client-blocked", rules=[]),
        a_record(7, at=minute, outcome="challenge", reason="credential-missing", status=401),
        a_record(8, at=minute, outcome="allow", reason="session-valid", status=200),
    ]
    spooled(folder, [*refused, *others])
    ingest.ship(folder)

    first, *rest = found("request.blocked")
    first = next(event for event in [first, *rest] if event.count == 3)

    assert (first.at.timestamp(), first.last_at.timestamp()) == (minute + 1, minute + 3)
    assert first.detail == {"reason": "waf-rule", "host": "office.example", "path": "/1", "rules": [7]}
    assert (str(first.decision_id), first.client_ip, first.country_code) == (refused[1].decision_id, CLIENT, "NZ")
    assert len(rest) == 3


def test_refusals_are_counted_up_from_batch_to_batch(folder):
    writer = spooled(folder, [a_record(1)], close=False)
    ingest.ship(folder)
    assert [event.count for event in found("request.blocked")] == [1]
    writer.write(a_record(2, at=NOW + 1))
    ingest.ship(folder)
    writer.close()

    assert [event.count for event in found("request.blocked")] == [2]


def test_records_that_are_read_again_after_a_fault_are_counted_once(folder, monkeypatch):
    spooled(folder, [a_record(1)])
    with monkeypatch.context() as patch:
        patch.setattr("audit.storage.ingest.positions.move", lambda *_: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            ingest.ship(folder)
    assert found("request.blocked") == []
    ingest.ship(folder)

    assert [event.count for event in found("request.blocked")] == [1]


def test_missing_records_are_an_event(folder):
    writer = spooled(folder, [a_record(1)], close=False)
    losing(writer, 3)
    writer.close()
    ingest.ship(folder)

    assert [(event.count, event.detail) for event in found("log.gap")] == [(3, {"node": "node-1", "gap": "dropped"})]


def test_repeatedly_missing_records_are_one_event_a_minute(folder):
    with time_machine.travel(MOMENT, tick=False):
        for number in (3, 4):
            ingest._record_gap("node-1", GapKind.DROPPED, number)
        ingest._record_gap("node-1", GapKind.TORN, 1)
        ingest._record_gap("node-2", GapKind.TORN, 1)

    assert [event.count for event in found("log.gap")] == [7, 1, 1]


def test_events_are_kept_for_the_configured_time(capsys):
    for days in (1, 89, 91):
        record_event(Event(EventKind.CLIENT_BANNED, timezone.now() - timedelta(days=days)))

    call_command("prune_logs")

    assert "deleted 1 events older than 90 days" in capsys.readouterr().out
    assert len(found("client.banned")) == 2
    call_command("prune_logs", days=1)
    assert found("client.banned") == []


def test_old_events_are_pruned_in_batches():
    for _ in range(5):
        record_event(Event(EventKind.CLIENT_BANNED, MOMENT - timedelta(days=100)))

    pruned = [retention.prune_events(MOMENT, days=90, at_most=3).rows for _ in range(2)]

    assert sum(pruned) == 5


def test_the_shipper_prunes_events(folder):
    record_event(Event(EventKind.CLIENT_BANNED, timezone.now() - timedelta(days=91)))

    LogShipper(folder).turn()

    assert found("client.banned") == []


def test_the_shipper_bans_detected_clients(folder):
    rules = [[{"id": number, "name": "r", "action": "block"}] for number in range(6)]
    sent = {"client_ip": "203.0.113.9", "at": time.time(), "credential": None, "subject": None}
    spooled(folder, [a_record(number, path=f"/{number}", rules=each, **sent) for number, each in enumerate(rules)])

    LogShipper(folder).turn()

    assert list(BlocklistEntry.objects.values_list("network", "source")) == [("203.0.113.9", "auto-ban")]


@pytest.fixture
def run(settings):
    return run_folder(settings.CONFIG.home)


def looked(events, *problems):
    events.record(timezone.now(), problems)


def test_a_policy_that_cannot_be_published_is_one_event(settings, run, monkeypatch, caplog):
    monkeypatch.setattr("gatewall.publication.announcement._WAIT_SECONDS", 0)
    agent = Agent(policy_files(settings.CONFIG), run, "here", LogShipper(settings.CONFIG.home / "spool"))
    with AgentLock(run).held(), time_machine.travel(MOMENT, tick=False) as clock, caplog.at_level(logging.CRITICAL):
        entry = services.block_network(actor="alice", network="203.0.113.8")
        BlocklistEntry.objects.filter(pk=entry.pk).update(network="no network")  # as by a manual edit
        for _ in range(3):
            agent.turn()
            clock.shift(1.5)

    (event,) = found("policy.rejected")
    assert event.count == 1
    assert event.detail["node"] == "here"
    assert "policy.rejected" in event.detail["problem"]


def test_a_policy_that_a_worker_refuses_is_an_event_and_a_second_one_if_it_recurs(run):
    events, report = HostEvents("here", run), WorkerReport(run / "workers")
    report.rejected("the signature is wrong")
    with time_machine.travel(MOMENT, tick=False) as clock:
        looked(events, "the signature is wrong")
        looked(events, "the signature is wrong")
        looked(events)
        clock.shift(60)
        looked(events, "the signature is wrong")

    assert [event.count for event in found("policy.rejected")] == [1, 1]


def test_a_clock_jump_is_an_event_and_passing_time_is_not(run):
    passed = [0.0]
    events = HostEvents("here", run, monotonic=lambda: passed[0])
    with time_machine.travel(MOMENT, tick=False) as clock:
        looked(events)
        clock.shift(100)
        passed[0] += 100 - host_events.JUMP_SECONDS / 2
        looked(events)
        clock.shift(-3600)
        looked(events)

    assert [event.detail for event in found("clock.jumped")] == [{"node": "here", "seconds": -3600.0}]


def test_an_untrusted_proxy_is_an_event_and_a_trusted_one_is_not(run):
    events = HostEvents("here", run)
    for peer in ("10.0.0.1", "192.0.2.77"):
        UntrustedPeers(run / FOLDER, TRUSTED).observe(a_subrequest(peer=peer, x_forwarded_for="1.2.3.4"))
    UntrustedPeers(run / FOLDER, TRUSTED).observe(a_subrequest(peer="192.0.2.78", host="office.example"))
    looked(events)
    looked(events)

    assert [(event.client_ip, event.count) for event in found("proxy.untrusted")] == [("192.0.2.77", 1)]


def test_the_gate_of_a_process_notes_the_peer(auth, settings, run):
    auth(peer="192.0.2.77")
    looked(HostEvents("here", run))

    assert [event.client_ip for event in found("proxy.untrusted")] == ["192.0.2.77"]


def test_a_process_writes_no_more_than_one_note_a_minute(run, monkeypatch):
    written = []
    peers = UntrustedPeers(run / FOLDER, TRUSTED)
    monkeypatch.setattr("gatewall.gate.untrusted.replace_file", lambda *note, **_: written.append(note))
    for number in range(50):
        peers.observe(a_subrequest(peer=f"192.0.2.{number}", x_forwarded_for="1.2.3.4"))

    assert len(written) == 1


def test_unfinished_notes_of_a_killed_worker_are_removed_after_a_minute(run):
    (run / FOLDER).mkdir()
    for name, age in ((".1.7", 61), (".2.7", 1)):
        (run / FOLDER / name).write_text("{")
        os.utime(run / FOLDER / name, (time.time() - age,) * 2)

    looked(HostEvents("here", run))

    assert [path.name for path in (run / FOLDER).iterdir()] == [".2.7"]


def test_invalid_notes_and_an_unwritable_folder_cause_no_error(run):
    (run / FOLDER).mkdir()
    for name, text in (("1", "{"), ("2", "[]"), ("3", '{"peer": "x", "at": 1}'), (".4.7", "")):
        (run / FOLDER / name).write_text(text)
    looked(HostEvents("here", run))
    blocked = run / "file"
    blocked.write_text("")
    UntrustedPeers(blocked, TRUSTED).observe(a_subrequest(peer="192.0.2.1", x_forwarded_for="1.2.3.4"))

    assert [event.client_ip for event in found("proxy.untrusted")] == [None]
