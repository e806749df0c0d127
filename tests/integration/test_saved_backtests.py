"""Saving the change of a finished backtest, and the blast radius."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from audit.storage import ingest
from gatewall.engine.addresses import parse_address
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Gone
from gatewall.models import PolicyRevision
from gatewall.policy import system_settings
from gatewall.whatif.backtest import blast_radius, running, runs, saving
from gatewall.whatif.backtest.models import Backtest
from policies import services
from policies.history.lockout import WouldLockYouOut
from policies.models import AllowlistEntry, BlocklistEntry, WafRule
from tests.integration.backtests import BLOCK, a_draft, asked
from tests.support.cast import CLIENT
from tests.support.records import a_record
from tests.support.spool_shipping import spooled

pytestmark = pytest.mark.django_db


def tried(draft):
    """Return a finished backtest of the draft."""
    run = asked(draft)
    assert running.run(runs.claim_run(run, timezone.now()))
    run.refresh_from_db()
    return run


def saved(draft, how, **values):
    run = tried(draft)
    with transaction.atomic():
        return saving.save(run, how, actor="alice", **({"caller": None, "force": False} | values))


def test_a_rule_saved_as_monitor_has_its_backtest_in_the_description(recorded):
    row = saved(a_draft("waf-rules", name="evil", pattern="evil", targets=["query"]), saving.MONITOR)

    rule = WafRule.objects.get(name="evil")
    assert (rule.pk, rule.action, rule.created_by) == (row.pk, "monitor", "alice")
    assert rule.description == f"backtest {Backtest.objects.get().pk}: 1 of 5 requests would get another answer"
    assert Backtest.objects.get().saved == {"how": "monitor", "id": rule.pk}


def test_a_change_is_enforced_through_the_service_and_its_guards(recorded):
    own = Caller(parse_address(CLIENT), None)
    with pytest.raises(WouldLockYouOut):
        saved(a_draft("ip-black-list", ip=CLIENT, remark="bad"), saving.ENFORCE, caller=own)
    assert not BlocklistEntry.objects.exists()
    run = Backtest.objects.latest("id")

    saving.save(run, saving.ENFORCE, actor="alice", caller=own, force=True)

    assert BlocklistEntry.objects.get().remark.startswith(f"bad (backtest {run.pk}: 4 of 5")
    with pytest.raises(saving.SavedAlready):
        saving.save(run, saving.ENFORCE, actor="alice", caller=own, force=True)


def test_a_row_changed_since_its_backtest_is_saved_only_with_force(recorded):
    rule = services.create_waf_rule(actor="", name="evil", pattern="quiet", targets=["query"], action="monitor")
    run = tried(a_draft("waf-rules", "update", rule.pk, action="block"))
    services.create_waf_rule(actor="", name="another", pattern="other")  # another row
    services.change_waf_rule(rule, actor="", pattern="evil")

    with pytest.raises(saving.OtherRow):
        saving.save(run, saving.ENFORCE, actor="alice", caller=None, force=False)
    assert WafRule.objects.get(pk=rule.pk).action == "monitor"

    saving.save(run, saving.ENFORCE, actor="alice", caller=None, force=True)
    assert WafRule.objects.get(pk=rule.pk).action == "block"


def test_a_row_with_unknown_history_is_saved_only_with_force(recorded):
    rule = services.create_waf_rule(actor="", name="evil", pattern="evil", targets=["query"], action="monitor")
    run = tried(a_draft("waf-rules", "delete", rule.pk))
    services.create_waf_rule(actor="", name="another", pattern="other")
    newest = PolicyRevision.objects.latest("number")

    for gap in (lambda: PolicyRevision.objects.update(changes=None), newest.delete):
        gap()
        with pytest.raises(saving.OtherRow):
            saving.save(run, saving.ENFORCE, actor="alice", caller=None, force=False)


def test_a_row_unchanged_since_its_backtest_is_saved(recorded):
    rule = services.create_waf_rule(actor="", name="evil", pattern="evil", targets=["query"], action="monitor")
    run = tried(a_draft("waf-rules", "update", rule.pk, action="block"))
    services.create_waf_rule(actor="", name="another", pattern="other")

    saving.save(run, saving.ENFORCE, actor="alice", caller=None, force=False)

    assert WafRule.objects.get(pk=rule.pk).action == "block"


def test_a_backtest_that_was_deleted_is_not_saved(recorded):
    run = asked(BLOCK)
    assert running.run(runs.claim_run(run, timezone.now()))
    run.refresh_from_db()
    runs.delete(run)

    with pytest.raises(Gone):
        saving.save(run, saving.ENFORCE, actor="alice", caller=None, force=False)
    assert not BlocklistEntry.objects.exists()


def test_only_a_new_or_changed_rule_can_be_saved_as_monitor(recorded):
    with pytest.raises(saving.NoMonitor):
        saved(BLOCK, saving.MONITOR)
    with pytest.raises(runs.NotFinished):
        saving.save(asked(BLOCK), saving.ENFORCE, actor="", caller=None, force=False)
    assert not AllowlistEntry.objects.exists()


def test_the_blast_radius_lists_users_with_sessions_from_the_network(recorded, bob):
    now = timezone.now()

    one, net, none = (blast_radius.of_network(each, now) for each in (CLIENT, "203.0.113.0/24", "192.0.2.0/24"))

    assert (one.users, one.machines, one.requests, one.is_complete) == (1, 0, 3, True)
    assert (one.visitors[0]["id"], one.visitors[0]["count"]) == (bob.pk, 3)
    assert (net.users, net.requests) == (1, 1)
    assert none.visitors == []


def test_the_blast_radius_is_marked_incomplete_over_its_budget(tmp_path, monkeypatch):
    now = timezone.now()
    reasons = {"outcome": "allow", "reason": "session-valid", "rules": []}
    spooled(tmp_path / "spool", [a_record(n, at=now.timestamp() - 60 * n, **reasons) for n in range(1, 11)])
    ingest.ship(tmp_path / "spool")
    monkeypatch.setattr(blast_radius, "BUDGET", 4)

    country = blast_radius.of_country("nz", now)

    assert (country.is_complete, country.requests, country.users) == (False, 4, 1)
    assert blast_radius.of_country("DE", now).requests == 0
    monkeypatch.setattr(blast_radius, "FEW", 3)
    assert blast_radius.of_network(CLIENT, now).is_complete is False


def test_the_blast_radius_does_not_claim_days_that_are_not_kept(recorded):
    system_settings.change(actor="", access_log_retention_days=7)
    now = timezone.now()

    for radius in (blast_radius.of_network(CLIENT, now), blast_radius.of_country("NZ", now)):
        assert (radius.is_complete, radius.is_cut, radius.since) == (False, False, now - timedelta(days=7))
