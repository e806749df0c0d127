"""Damaged or missing published files are written again by any process that starts, with one line that names them."""

import logging
from datetime import timedelta

import pytest
from django.conf import settings
from django.core.management import call_command

from gatewall.agent import agent as agents
from gatewall.agent.agent import Agent
from gatewall.agent.log_shipper import LogShipper
from gatewall.engine.snapshot import Segment
from gatewall.publication import announcement, compiler
from gatewall.publication.publisher import publish
from gatewall.publication.standby import Standby
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.snapshot.notification import AgentLock
from gatewall.snapshot.published import PublishedPolicies
from gatewall.snapshot.worker_report import WorkerReport
from policies import services
from tests.unit.publications import put

pytestmark = pytest.mark.django_db(transaction=True)
NETWORKS, MANIFEST = "blocked-networks/manual", "the manifest"


def flip_a_byte(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    put(path, bytes(data))


DAMAGES = {
    "flipped": flip_a_byte,
    "truncated": lambda path: put(path, path.read_bytes()[:-1]),
    "empty": lambda path: put(path, b""),
    "zeros": lambda path: put(path, bytes(path.stat().st_size)),
    "missing": lambda path: path.unlink(),
}


class Publication:
    """The published policy of this host, some of whose files are damaged."""

    def __init__(self, caplog):
        services.block_network(actor="alice", network="203.0.113.7")
        self.files, self.run = policy_files(settings.CONFIG), run_folder(settings.CONFIG.home)
        self.folder = settings.CONFIG.home / "policy"
        self._log = caplog
        publish(self.files)

    def damage(self, how, *names):
        """Damage these parts, so that no worker can start, and clear the captured log."""
        files = {name: self.folder / "segments" / ref.sha256 for name, ref in self.files.manifest().segments.items()}
        files[MANIFEST] = self.folder / "current"
        for path in {files[name] for name in names}:  # once: empty parts have one file
            how(path)
        assert not self.starts_a_worker()
        self._log.clear()

    def starts_a_worker(self):
        worker = PublishedPolicies(self.files)
        worker.refresh()
        return worker.current() is not None

    def said(self):
        """Return the publisher's log."""
        return [line.getMessage() for line in self._log.records if line.name == "gatewall.publication.publisher"]

    def new_agent(self):
        return Agent(self.files, self.run, "here", LogShipper(settings.CONFIG.home / "spool"))


@pytest.fixture
def publication(caplog):
    with caplog.at_level(logging.WARNING):
        yield Publication(caplog)


@pytest.mark.parametrize("how", DAMAGES.values(), ids=DAMAGES.keys())
@pytest.mark.parametrize("name", [Segment.SETTINGS, NETWORKS])
def test_the_command_writes_a_segment_again_and_names_it(publication, name, how, capsys):
    publication.damage(how, name)

    call_command("publish_policy")

    assert publication.starts_a_worker()
    assert [name in line for line in publication.said()] == [True]
    assert "is in force" in capsys.readouterr().out


@pytest.mark.parametrize("how", [DAMAGES[name] for name in ("flipped", "truncated", "empty", "zeros")])
def test_the_command_writes_the_manifest_again_and_names_it(publication, how):
    publication.damage(how, MANIFEST)

    call_command("publish_policy")

    assert publication.starts_a_worker()
    assert [MANIFEST in line for line in publication.said()] == [True]


def test_the_command_writes_everything_again(publication):
    publication.damage(flip_a_byte, MANIFEST, *publication.files.manifest().segments)

    call_command("publish_policy")

    assert publication.starts_a_worker()


def test_many_damaged_segments_are_one_short_line(publication):
    names = publication.files.manifest().segments
    publication.damage(flip_a_byte, *names)

    call_command("publish_policy")

    (line,) = publication.said()
    assert f"{len(names)} " in line
    assert len(line) < 300


def test_a_change_writes_a_missing_segment_again_that_it_does_not_touch(publication):
    publication.damage(DAMAGES["missing"], NETWORKS)

    services.block_country(actor="alice", country_code="NZ")

    assert publication.starts_a_worker()
    assert len(publication.said()) == 1


@pytest.mark.parametrize("how", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_starting_agent_repairs_a_damaged_segment(publication, how):
    publication.damage(how, NETWORKS)

    with AgentLock(publication.run).held():
        agent = publication.new_agent()
        agent.turn()
        agent.turn()

    assert publication.starts_a_worker()
    assert len(publication.said()) == 1


@pytest.mark.parametrize("how", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_control_plane_without_an_agent_repairs_a_damaged_segment(publication, how):
    publication.damage(how, NETWORKS)
    standby = Standby(publication.files, publication.run)

    standby.turn()
    standby.turn()

    assert publication.starts_a_worker()
    assert len(publication.said()) == 1


@pytest.fixture
def running_agent(publication, monkeypatch):
    """Return an agent that has just verified all files and reports at each turn."""
    monkeypatch.setattr(agents, "_REPORT_EVERY", timedelta(0))
    monkeypatch.setattr(agents, "_VERIFY_SECONDS", 3600)
    with AgentLock(publication.run).held():
        agent = publication.new_agent()
        agent.turn()
        yield agent


def test_a_running_agent_repairs_a_segment_that_a_worker_refuses(publication, running_agent):
    publication.damage(flip_a_byte, NETWORKS)
    running_agent.turn()
    assert publication.said() == []
    worker = WorkerReport(publication.run / "workers")

    worker.rejected("segment 0123456789ab is damaged")
    running_agent.turn()
    running_agent.turn()

    assert publication.starts_a_worker()
    assert len(publication.said()) == 1


def test_a_running_agent_verifies_by_itself(publication, running_agent, monkeypatch):
    publication.damage(flip_a_byte, NETWORKS)
    monkeypatch.setattr(agents, "_VERIFY_SECONDS", 0)

    running_agent.turn()

    assert publication.starts_a_worker()


def test_a_publication_that_a_worker_keeps_refusing_is_verified_once(publication, running_agent, monkeypatch):
    verified = []
    monkeypatch.setattr(agents, "publish", lambda files, **how: (verified.append(how), publish(files, **how))[1])
    worker = WorkerReport(publication.run / "workers")
    worker.rejected("schema 2, not 1")

    for _ in range(5):
        running_agent.turn()

    assert verified == [{"verify": True}]


def test_a_row_that_cannot_be_compiled_has_the_files_verified_once(publication, monkeypatch):
    """The agent retries at each turn; reading all files each time would keep a processor busy."""
    verified = []
    monkeypatch.setattr(agents, "publish", lambda files, **how: (verified.append(how), publish(files, **how))[1])
    monkeypatch.setattr(announcement, "_WAIT_SECONDS", 0)
    with AgentLock(publication.run).held():
        agent = publication.new_agent()
        services.block_country(actor="alice", country_code="NZ")
        monkeypatch.setattr(compiler, "compiled_segment", refused)

        for _ in range(3):
            agent.turn()

    assert verified == [{"verify": True}, {"verify": False}, {"verify": False}]


def refused(_name):
    raise ValueError("a row that is not one of its own")


def test_an_intact_publication_is_not_rewritten(publication):
    before = publication.files.stamp()

    call_command("publish_policy")

    assert publication.files.stamp() == before
    assert publication.said() == []
