"""The standby publisher: one process of the control plane publishes while the host has no leading agent."""

import logging
from threading import Event

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError

from gatewall.models import PolicyHead, PolicyRevision
from gatewall.policy import revisions
from gatewall.publication import announcement
from gatewall.publication.lineage import DatabaseWentBack
from gatewall.publication.publisher import publish
from gatewall.publication.standby import Standby
from gatewall.snapshot import manifest as manifests
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.snapshot.notification import AgentLock, StandbyLock
from policies import services
from policies.models import WafRule

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run():
    return run_folder(settings.CONFIG.home)


@pytest.fixture
def standby(run):
    return Standby(policy_files(settings.CONFIG), run)


@pytest.fixture
def change():
    """Make a change as another host does, without a notification of this one."""
    before = list(revisions._hook)
    revisions.call_after_commit(lambda _version: True)
    yield lambda last: services.block_network(actor="alice", network=f"203.0.113.{last}")
    revisions.call_after_commit(*before)


def published_revision():
    manifest = policy_files(settings.CONFIG).manifest()
    return manifest.version.revision if manifest else 0


@pytest.fixture
def release(monkeypatch):
    """Act as another release from now on: the one with this schema."""
    return lambda schema: monkeypatch.setattr(manifests, "SCHEMA", schema)


def put_back(revision):
    """Restore the database as it was at this revision."""
    PolicyHead.objects.update(revision=revision)
    PolicyRevision.objects.filter(number__gt=revision).delete()


@pytest.mark.parametrize("schema", [manifests.SCHEMA - 1, manifests.SCHEMA + 1], ids=["upgrade", "downgrade"])
def test_a_database_that_went_back_is_not_published_by_another_release(change, release, schema):
    files, ours = policy_files(settings.CONFIG), manifests.SCHEMA
    change(7)
    change(8)
    release(schema)
    publish(files)
    release(ours)
    put_back(revision=1)

    with pytest.raises(DatabaseWentBack):
        publish(files)

    release(schema)
    assert published_revision() == 2


def test_a_standby_does_not_publish_a_database_that_went_back_across_an_upgrade(standby, change, release, caplog):
    ours = manifests.SCHEMA
    change(7)
    change(8)
    release(ours - 1)
    publish(policy_files(settings.CONFIG))
    release(ours)
    put_back(revision=1)

    standby.turn()

    release(ours - 1)
    assert published_revision() == 2
    assert "DatabaseWentBack" in caplog.text


@pytest.mark.parametrize("changes", [(), (8,)], ids=["the same", "a later one"])
def test_a_publication_of_the_previous_release_is_published_again(standby, change, release, changes):
    ours = manifests.SCHEMA
    change(7)
    release(ours - 1)
    publish(policy_files(settings.CONFIG))
    release(ours)
    for last in changes:
        change(last)

    standby.turn()

    assert published_revision() == 1 + len(changes)


@pytest.mark.parametrize("changes", [(), (8,)], ids=["the same", "a later one"])
def test_a_standby_leaves_the_publication_of_a_newer_release(standby, change, release, caplog, changes):
    ours = manifests.SCHEMA
    change(7)
    standby.turn()
    release(ours + 1)
    publish(policy_files(settings.CONFIG))
    release(ours)
    for last in changes:
        change(last)

    standby.turn()

    release(ours + 1)
    assert published_revision() == 1
    assert "a newer release" in caplog.text


def test_an_old_release_keeps_a_newer_publication_and_its_own_change_is_pending(change, release):
    ours = manifests.SCHEMA
    change(7)
    release(ours + 1)
    publish(policy_files(settings.CONFIG))
    release(ours)
    change(8)

    is_published = announcement.announce(revisions.current())

    release(ours + 1)
    assert (is_published, published_revision()) == (False, 1)


def test_a_writer_believes_an_agent_that_was_not_replaced_yet(change, release, run):
    ours = manifests.SCHEMA
    change(7)
    release(ours - 1)
    publish(policy_files(settings.CONFIG))
    release(ours)

    with AgentLock(run).held():
        assert announcement.announce(revisions.current())


def test_an_agent_of_an_old_release_that_was_put_back_publishes(change, release):
    ours = manifests.SCHEMA
    change(7)
    release(ours + 1)
    publish(policy_files(settings.CONFIG))
    release(ours)

    publish(policy_files(settings.CONFIG))

    assert published_revision() == 1


def test_a_change_of_another_host_is_published_while_no_agent_leads(standby, change):
    change(7)

    stood_in = standby.turn()

    assert (stood_in, published_revision()) == (True, 1)


def test_every_change_is_published_while_no_agent_leads(standby, change):
    for last in (7, 8):
        change(last)
        standby.turn()

    assert published_revision() == 2


@pytest.mark.parametrize("lock", [AgentLock, StandbyLock], ids=["an agent leads", "another process stands in"])
def test_the_standby_waits_while_another_process_publishes(standby, change, run, lock):
    change(7)
    with lock(run).held():
        stood_in = standby.turn()

    assert (stood_in, published_revision()) == (False, 0)


def test_the_standby_does_not_keep_the_lock_of_the_agent(standby, change, run):
    change(7)

    standby.turn()

    with AgentLock(run).held() as ours:
        assert ours


def test_a_manifest_that_is_gone_is_published_again(standby, change):
    change(7)
    standby.turn()
    (settings.CONFIG.home / "policy" / "current").unlink()

    standby.turn()

    assert published_revision() == 1


def test_a_turn_without_a_change_reads_only_the_version(standby, change, django_assert_num_queries):
    change(7)
    standby.turn()

    with django_assert_num_queries(1):
        standby.turn()


def test_an_unchanged_policy_is_confirmed(standby, change):
    confirmations = policy_files(settings.CONFIG).confirmations
    change(7)
    standby.turn()
    before = confirmations.last()

    standby.turn()

    assert confirmations.last() > before


def test_a_problem_is_logged_once_and_its_end(standby, change, monkeypatch, caplog):
    def away():
        raise OperationalError("away")

    change(7)
    with caplog.at_level(logging.INFO, "gatewall.publication.standby"):
        with monkeypatch.context() as patch:
            patch.setattr("gatewall.publication.standby.publish", lambda *_, **__: away())
            standby.turn()
            standby.turn()
        standby.turn()

    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]
    assert "OperationalError" in caplog.records[0].message
    assert published_revision() == 1


def test_an_invalid_row_is_logged_and_later_changes_are_published_after_its_repair(standby, change, caplog):
    call_command("seed_waf_rules")
    rules = WafRule.objects.filter(enabled=True)
    rule = rules.first()
    for last, name, value in ((7, "exclusions", [5]), (8, "targets", 5)):
        change(last)
        rules.filter(pk=rule.pk).update(**{name: value})
        (settings.CONFIG.home / "policy" / "current").unlink(missing_ok=True)
        standby.turn()
        assert published_revision() == 0
    rules.filter(pk=rule.pk).update(exclusions=rule.exclusions, targets=rule.targets)

    change(9)
    standby.turn()

    assert published_revision() == revisions.current().revision
    assert "waf-rules" in caplog.text


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("error", [MemoryError, AttributeError("a bug")], ids=repr)
def test_the_standby_goes_on_after_an_unexpected_error(standby, monkeypatch, caplog, error):
    turns, is_well = [], Event()

    def turn():
        turns.append(1)
        if len(turns) == 1:
            raise error
        is_well.set()

    monkeypatch.setattr(standby, "_every_seconds", 0.01)
    monkeypatch.setattr("gatewall.publication.standby._AFTER_A_BUG_SECONDS", 0.01, raising=False)
    monkeypatch.setattr(standby, "turn", turn)
    standby.start()

    assert is_well.wait(30)
    standby.close()
    assert "a bug" in caplog.text


def test_the_standby_goes_on_after_an_unusable_lock_folder(standby, change, monkeypatch):
    turns = []

    def broken():
        turns.append(1)
        if len(turns) == 3:
            standby.close()
        raise PermissionError("no")

    monkeypatch.setattr(standby, "_every_seconds", 0)
    monkeypatch.setattr(standby, "turn", broken)

    standby._watch()

    assert len(turns) == 3
