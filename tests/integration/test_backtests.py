"""Backtests from the request to the result: trial and rollback of the draft, claims, ends, actions."""

import subprocess
import sys
from datetime import timedelta
from threading import Timer

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.services import change_user
from audit.models import AccessLog
from gatewall.agent.backtest_runner import BacktestRunner
from gatewall.engine.addresses import parse_address
from gatewall.kernel.clientip import Caller
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from gatewall.snapshot.host_paths import policy_files
from gatewall.whatif import change_histories
from gatewall.whatif.backtest import running, runs
from gatewall.whatif.backtest.models import Backtest, State
from policies import services
from policies.access_rules.services import create_access_rule
from policies.groups.services import create_group
from policies.history.lockout import WouldLockYouOut
from policies.models import AuthorizedDomain, BlocklistEntry
from policies.rows import Duplicate
from tests.integration.backtests import BLOCK, a_draft, asked, run_of, turns
from tests.support.cast import CLIENT, OFFICE

pytestmark = pytest.mark.django_db


def test_a_block_entry_lists_the_user_that_it_would_refuse(recorded, bob):
    result = run_of(BLOCK)

    assert (result["read"], result["changed"], result["untouched"]) == (5, 4, 1)
    assert turns(result) == {("session-valid", "client-blocked"): 3, ("credential-missing", "client-blocked"): 1}
    (person,) = result["people"]["results"]
    assert (person["kind"], person["id"], person["count"]) == ("user", bob.pk, 3)
    assert AccessLog.objects.filter(decision_id__in=person["examples"]).count() == 3
    assert result["assumed"] == {"credential": 3}


def test_a_rule_is_replayed_against_recorded_requests(recorded):
    result = run_of(a_draft("waf-rules", name="evil", pattern="evil", targets=["query"]))

    assert turns(result) == {("credential-missing", "waf-rule"): 1}
    assert result["people"]["number"] == 0


def test_an_allowed_network_lets_strangers_in(recorded):
    result = run_of(a_draft("ip-white-list", ip=CLIENT, domain=OFFICE))

    assert turns(result)["credential-missing", "client-allowed"] == 1
    assert all(each["lets_in"] for each in result["changes"]["results"])


def test_closing_and_removing_a_domain_are_replayed(recorded):
    domain = AuthorizedDomain.objects.get(name=OFFICE)

    shut = run_of(a_draft("authorized-domains", "update", domain.pk, access="denied"))
    gone = run_of(a_draft("authorized-domains", "delete", domain.pk))

    assert turns(shut) == {
        ("session-valid", "host-not-authorized"): 4,
        ("credential-missing", "host-not-authorized"): 1,
    }
    assert gone["changed"] == 0  # in the mode any, a host without a domain requires a credential as well


def test_an_access_rule_and_its_place_in_the_order_are_tried(recorded, bob):
    page = [{"match": "prefix", "value": "/page"}]
    denied = run_of(a_draft("access-rules", name="deny", access="denied", paths=page))
    opened = run_of(
        a_draft("access-rules", name="open", access="public", paths=[{"match": "exact", "value": "/search"}])
    )
    first = create_access_rule(actor="x", name="first", access="authenticated", paths=page)
    second = create_access_rule(actor="x", name="second", access="denied", users=[bob])
    moved = run_of(a_draft("access-rules", "update", second.pk, position=1))
    gone = run_of(a_draft("access-rules", "delete", first.pk))

    assert turns(denied) == {("session-valid", "access-denied"): 3}
    assert turns(opened) == {("credential-missing", "path-public"): 1}
    assert turns(moved) == turns(gone) == {("session-valid", "access-denied"): 3}
    assert [rule.position for rule in (first, second)] == [1, 2]


def test_the_first_domain_that_a_user_adds_changes_the_mode(recorded):
    result = run_of(a_draft("authorized-domains", name="other.example"))

    assert result["changed"] == 0  # office.example is registered
    AuthorizedDomain.objects.all().delete()
    assert turns(run_of(a_draft("authorized-domains", name="other.example"))) == {
        ("session-valid", "host-not-authorized"): 4,
        ("credential-missing", "host-not-authorized"): 1,
    }


def test_a_scope_that_is_narrowed_shuts_its_user_out(recorded, bob):
    result = run_of(a_draft("users", "update", bob.pk, all_domains=False, authorized_domains=[]))

    assert turns(result) == {("session-valid", "host-not-in-scope"): 4}


def test_changes_of_membership_and_group_scope_are_replayed(recorded, bob):
    office = AuthorizedDomain.objects.get(name=OFFICE)
    family = create_group(actor="", name="family", authorized_domains=[office])
    change_user(bob, actor="", groups=[family])
    nothing = run_of(a_draft("users", "update", bob.pk, all_domains=False, authorized_domains=[]))
    assert nothing["changed"] == 0  # the group covers the office
    change_user(bob, actor="", all_domains=False)

    left = run_of(a_draft("users", "update", bob.pk, groups=[]))
    narrowed = run_of(a_draft("groups", "update", family.pk, authorized_domains=[]))
    deleted = run_of(a_draft("groups", "delete", family.pk))

    for result in (left, narrowed, deleted):
        assert turns(result) == {("session-valid", "host-not-in-scope"): 4}
        assert [person["id"] for person in result["people"]["results"]] == [bob.pk]
    assert list(bob.groups.values_list("name", flat=True)) == ["family"]
    change_user(bob, actor="", groups=[])
    joined = run_of(a_draft("users", "update", bob.pk, groups=["family"]))
    assert turns(joined) == {("host-not-in-scope", "session-valid"): 4}


def test_requests_under_a_later_revision_are_replayed_under_the_draft_too(recorded):
    AccessLog.objects.update(policy_revision=revisions.current().revision + 1)  # the policy was changed meanwhile

    result = run_of(a_draft("waf-rules", name="evil", pattern="evil", targets=["query"]))

    assert turns(result) == {("credential-missing", "waf-rule"): 1}


def test_nothing_of_the_policy_is_changed(recorded):
    before = revisions.current(), PolicyRevision.objects.count(), policy_files(settings.CONFIG).stamp()

    run_of(BLOCK)

    assert (revisions.current(), PolicyRevision.objects.count(), policy_files(settings.CONFIG).stamp()) == before
    assert not BlocklistEntry.objects.exists()


def test_a_draft_that_the_change_itself_would_refuse_is_refused(bob):
    services.block_network(actor="", network=CLIENT)

    with pytest.raises(Duplicate):
        asked(BLOCK)
    with pytest.raises(WouldLockYouOut):
        asked(a_draft("ip-black-list", ip="203.0.113.9"), caller=Caller(parse_address("203.0.113.9"), None))
    with pytest.raises(ValidationError):
        asked(a_draft("waf-rules", name="a", pattern="("))
    assert not Backtest.objects.exists()


def test_a_draft_that_no_longer_applies_fails_with_the_reason(recorded):
    run = asked(BLOCK)
    services.block_network(actor="", network=CLIENT)

    assert not running.run(runs.claim_run(run, timezone.now()))

    run.refresh_from_db()
    assert run.state == State.FAILED
    assert "already exists" in run.failure


def test_a_draft_whose_domain_was_removed_fails_with_its_name(recorded):
    domain = services.register_domain(actor="", name="shop.test", access="public")
    run = asked(a_draft("ip-white-list", ip=CLIENT, domain="shop.test"))
    services.remove_domain(domain, actor="")

    assert not running.run(runs.claim_run(run, timezone.now()))

    run.refresh_from_db()
    expected = "the change would be refused now: values.domain: shop.test is not a registered domain"
    assert (run.state, run.failure) == (State.FAILED, expected)


def test_backtests_run_one_at_a_time_oldest_first():
    first, second = asked(BLOCK), asked(BLOCK)
    now = timezone.now()

    claim_run = runs.claim_next(now)

    assert claim_run.pk == first.pk
    assert runs.claim_next(now) is None
    assert runs.claim_run(second, now) is None
    assert runs.finish(claim_run.claim, {}, done=0)
    assert runs.claim_next(now).pk == second.pk


def test_a_process_without_a_heartbeat_is_dead():
    asked(BLOCK)
    now = timezone.now()
    dead = runs.claim_next(now)

    assert runs.claim_next(now + runs.DEAD_AFTER) is None
    assert Backtest.objects.get().state == State.RUNNING
    assert runs.claim_next(now + runs.DEAD_AFTER + timedelta(seconds=1)) is None

    assert (Backtest.objects.get().state, Backtest.objects.get().failure) == (State.FAILED, runs.died())
    assert not runs.finish(dead.claim, {}, done=0)


def test_a_backtest_that_is_stopped_with_its_agent_is_queued_again(monkeypatch):
    run = runs.claim_run(asked(BLOCK), timezone.now())
    runner, start = BacktestRunner(), subprocess.Popen
    dead = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"]
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: start(dead))
    soon = Timer(1.5, runner._stop.set)  # a service manager signals all processes at once, in no order
    soon.start()

    runner._supervise(run)
    soon.join()

    run.refresh_from_db()
    assert (run.state, run.claim, run.failure) == (State.QUEUED, None, "")


def test_a_process_that_starts_slowly_is_not_taken_for_dead_by_another_host(monkeypatch):
    run = runs.claim_run(asked(BLOCK), timezone.now() - 2 * runs.DEAD_AFTER)
    runner, start, failed = BacktestRunner(), subprocess.Popen, []
    slow = [sys.executable, "-c", "import time; time.sleep(600)"]
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: start(slow))

    def look(_seconds):
        failed.append(runs.fail_dead(timezone.now()))
        runner._stop.set()

    monkeypatch.setattr(runner._stop, "wait", look)
    runner._supervise(run)

    run.refresh_from_db()
    assert (failed[0], run.state) == (0, State.QUEUED)


def test_a_process_of_the_agent_is_no_lower_in_priority_than_one_of_a_shell():
    code = (
        "import os, django; django.setup(); from gatewall.management.commands.backtest import _limit\n"
        "os.nice(5); before = os.getpriority(os.PRIO_PROCESS, 0); _limit()\n"
        "print(before, os.getpriority(os.PRIO_PROCESS, 0))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # the agent has 5

    before, after = map(int, run.stdout.split())
    assert after == max(10, before)


def test_a_deleted_backtest_ends(recorded):
    run = runs.claim_run(asked(BLOCK), timezone.now())
    runs.delete(run)

    assert not running.run(run)
    assert not Backtest.objects.exists()


def test_at_most_twenty_backtests_are_kept():
    for _ in range(runs.KEPT):
        asked(BLOCK)
    with pytest.raises(runs.TooManyBacktests):
        asked(BLOCK)
    oldest = runs.claim_next(timezone.now())
    runs.finish(oldest.claim, {}, done=0)

    asked(BLOCK)

    assert Backtest.objects.count() == runs.KEPT
    assert not Backtest.objects.filter(pk=oldest.pk).exists()


def test_recent_history_reaches_back_to_the_first_missing_revision():
    for number in range(4):
        services.block_network(actor="", network=f"203.0.113.{number}")
    PolicyRevision.objects.filter(number=2).delete()

    history = change_histories.recent_history(4)

    assert (history.known_from, history.newest) == (2, 4)
