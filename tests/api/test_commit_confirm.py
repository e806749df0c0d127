"""A forced change that locks out its author is reverted automatically unless the author confirms it."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from audit.models import SecurityEvent
from gatewall.models import PendingConfirmation, PolicyRevision
from gatewall.policy import system_settings
from policies import services
from policies.history import confirmation
from policies.history.restore import restore
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry, WafRule
from tests.api.test_lock_out import ME
from tests.support.history import now, the_rows
from tests.support.proxies import Api, a_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(alice):
    """Return a client of Alice, who comes through the proxy from ``ME`` to office.example."""
    return Api(a_token(alice), **{"X-Forwarded-For": ME, "Host": "office.example"})


def later(minutes=6):
    return confirmation.revert_overdue(timezone.now() + timedelta(minutes=minutes))


def test_a_forced_change_returns_its_confirmation_deadline(me):
    began = timezone.now()
    response = me.post("/ip-black-list", {"ip": ME, "force": True})

    (waiting,) = confirmation.pending()
    assert response.status_code == 201
    assert response.json()["confirm_by"] == f"{waiting.deadline:%Y-%m-%dT%H:%M:%SZ}"
    assert timedelta(0) <= waiting.deadline - began - timedelta(minutes=5) < timedelta(seconds=30)
    assert (waiting.revision, waiting.previous, waiting.actor, waiting.address) == (now(), now() - 1, "alice", ME)


@pytest.mark.parametrize("ip", ["198.51.100.8", ME])
def test_only_a_change_that_locks_out_its_author_needs_confirmation(me, admin, ip):
    """The address of another client, or the own one in a call from this machine, which is never locked out."""
    caller = admin if ip == ME else me
    assert "confirm_by" not in caller.post("/ip-black-list", {"ip": ip, "force": True}).json()
    assert not confirmation.pending().exists()


def test_an_author_who_was_already_locked_out_confirms_nothing(me):
    services.block_network(actor="x", network="198.51.100.0/24")

    assert "confirm_by" not in me.post("/ip-black-list", {"ip": ME, "force": True}).json()


def test_later_changes_return_no_confirmation_deadline(me):
    me.post("/ip-black-list", {"ip": ME, "force": True})

    assert "confirm_by" not in me.post("/geo-block-rules", {"country_code": "aq"}).json()
    assert "confirm_by" not in me.post("/waf-rules", {"name": "x", "pattern": "attack"}).json()


def test_an_unconfirmed_change_is_reverted_by_the_system(me):
    before = the_rows()
    number = me.post("/ip-black-list", {"ip": ME, "force": True}) and now()

    assert later(minutes=4) == 0
    assert BlocklistEntry.objects.exists()
    assert later() == 1
    assert later() == 0

    assert the_rows() == before
    reverting = PolicyRevision.objects.get(pk=now())
    assert reverting.actor == f"system: {number} was not confirmed"
    event = SecurityEvent.objects.filter(kind="policy.changed").latest("id")
    assert (event.detail["actor"], event.detail["revision"]) == (reverting.actor, now())
    row = PendingConfirmation.objects.get()
    assert (row.outcome, row.settled_by) == ("reverted", reverting.actor)


def test_a_confirmed_change_stays(me):
    me.post("/ip-black-list", {"ip": ME, "force": True})
    number = now()

    response = me.post(f"/policy/revisions/{number}/confirm")

    assert response.status_code == 200
    assert (response.json()["number"], response.json()["confirmed_by"]) == (number, "alice")
    assert later() == 0
    assert BlocklistEntry.objects.exists()
    again = me.post(f"/policy/revisions/{number}/confirm")
    assert (again.status_code, again.json()["code"]) == (409, "nothing-to-confirm")


def test_invalid_confirmations_are_refused(admin):
    admin.post("/ip-black-list", {"ip": "203.0.113.7"})

    assert admin.post(f"/policy/revisions/{now()}/confirm").json()["code"] == "nothing-to-confirm"
    assert admin.post(f"/policy/revisions/{now() + 1}/confirm").status_code == 404
    assert admin.post(f"/policy/revisions/{now()}/confirm", {"force": True}).status_code == 400


def test_reverting_keeps_later_changes(me):
    me.post("/ip-black-list", {"ip": ME, "force": True})
    me.post("/ip-black-list", {"ip": "203.0.113.7"})
    me.post("/waf-rules", {"name": "x", "pattern": "attack"})

    assert later() == 1

    assert [entry.network for entry in BlocklistEntry.objects.all()] == ["203.0.113.7"]
    assert WafRule.objects.filter(name="x").exists()


def test_several_unconfirmed_changes_are_reverted_one_by_one(me):
    domain = services.register_domain(actor="", name="office.example", access="authenticated", seed=True)
    services.block_network(actor="x", network="198.51.100.0/24")
    allowed = services.allow_network(actor="x", network=ME, domain=domain, inspect=True)
    before = the_rows()
    response = me.delete(f"/ip-white-list/{allowed.pk}?force=true")
    assert (response.status_code, "X-Gatewall-Confirm-By" in response.headers) == (204, True)
    back = services.allow_network(actor="x", network=ME)  # made by somebody else: it lets the own address in again
    me.post("/ip-black-list", {"ip": ME, "force": True})
    services.disallow_network(back, actor="x")

    assert confirmation.pending().count() == 2
    assert later() == 2
    assert the_rows() == before


def test_reverting_a_domain_deletion_restores_its_own_rows(me):
    domain = services.register_domain(actor="", name="office.example", access="public", seed=True)
    services.block_network(actor="x", network="198.51.100.0/24")
    services.allow_network(actor="x", network=ME, domain=domain)
    before = the_rows()
    response = me.delete(f"/authorized-domains/{domain.pk}?force=true")
    assert "X-Gatewall-Confirm-By" in response.headers
    assert not AllowlistEntry.objects.exists()
    services.block_country(actor="x", country_code="AQ")
    between = [rule for rule in the_rows() if rule not in before]

    assert later() == 1

    assert AuthorizedDomain.objects.get().pk == domain.pk
    assert AllowlistEntry.objects.get().domain == domain
    assert sorted(map(str, the_rows())) == sorted(map(str, [*before, *between]))


def test_reverting_keeps_an_entry_that_somebody_recreated(me):
    services.block_network(actor="x", network="198.51.100.0/24")
    allowed = services.allow_network(actor="x", network=ME)
    me.delete(f"/ip-white-list/{allowed.pk}?force=true")
    anew = services.allow_network(actor="bob", network=ME, remark="mine")

    assert later() == 1

    assert AllowlistEntry.objects.get() == anew
    assert AllowlistEntry.objects.get().remark == "mine"


def test_a_failed_revert_records_the_problem_and_is_retried(me):
    domain = services.register_domain(actor="", name="office.example", access="public", seed=True)
    services.block_network(actor="x", network="198.51.100.0/24")
    services.allow_network(actor="x", network=ME, domain=domain)
    me.delete(f"/authorized-domains/{domain.pk}?force=true")
    anew = services.register_domain(actor="bob", name="office.example", access="denied", seed=True)

    assert later() == 0
    (waiting,) = confirmation.pending()
    assert "conflicts with one to be restored" in waiting.problem
    services.remove_domain(anew, actor="bob")
    assert later(minutes=6.5) == 0
    assert later(minutes=8) == 1
    assert AllowlistEntry.objects.get().domain_id == domain.pk


def test_an_unconfirmed_restore_is_reverted_too(me):
    me.post("/ip-black-list", {"ip": ME, "force": True})
    number = now()
    services.unblock_network(BlocklistEntry.objects.get(), actor="x")
    me.post(f"/policy/revisions/{number}/confirm")

    response = me.post(f"/policy/revisions/{number}/restore", {"force": True})

    assert "confirm_by" in response.json()
    assert later() == 1
    assert not BlocklistEntry.objects.exists()


def test_an_edited_automatic_ban_is_reverted_to_its_network(me):
    ban = services.block_network(actor="x", network="203.0.113.7", source="auto-ban")
    assert "confirm_by" in me.put(f"/ip-black-list/{ban.pk}", {"ip": ME, "force": True}).json()

    assert later() == 1

    assert BlocklistEntry.objects.get().network == "203.0.113.7"


def test_a_second_change_that_locks_out_needs_confirmation_too(me):
    """Otherwise it would lock out permanently once the first change is reverted."""
    me.post("/ip-black-list", {"ip": ME, "force": True})

    refused = me.post("/ip-black-list", {"ip": "198.51.100.0/24"})
    assert (refused.status_code, refused.json()["code"]) == (409, "would-lock-you-out")
    assert "confirm_by" in me.post("/ip-black-list", {"ip": "198.51.100.0/24", "force": True}).json()

    assert later() == 2
    assert not BlocklistEntry.objects.exists()


def test_a_harmless_change_needs_no_confirmation_while_another_is_pending(me):
    me.post("/ip-black-list", {"ip": ME, "force": True})
    rows = the_rows()

    assert me.post("/ip-black-list", {"ip": "203.0.113.7"}).status_code == 201
    assert [row for row in rows if row not in the_rows()] == []
    assert confirmation.pending().count() == 1


def test_reverting_keeps_fields_that_were_changed_later(me):
    services.block_network(actor="x", network="198.51.100.0/24")
    entry = services.allow_network(actor="x", network=ME, remark="old")
    changed = {"ip": "203.0.113.8", "remark": "new", "force": True}
    assert "confirm_by" in me.put(f"/ip-white-list/{entry.pk}", changed).json()
    services.change_allowed_network(entry, actor="bob", remark="mine", inspect=True)

    assert later() == 1

    entry.refresh_from_db()
    assert (entry.network, entry.remark, entry.inspect) == (ME, "mine", True)


def test_reverting_keeps_a_row_that_a_restore_brought_back(me):
    services.block_network(actor="x", network="198.51.100.0/24")
    entry = services.allow_network(actor="x", network=ME)
    number = now()
    me.delete(f"/ip-white-list/{entry.pk}?force=true")
    restore(number, actor="bob")
    services.change_allowed_network(AllowlistEntry.objects.get(), actor="bob", inspect=True)

    assert later() == 1

    assert AllowlistEntry.objects.get().inspect


def test_reverting_keeps_settings_that_were_changed_later(me):
    system_settings.change(actor="x", waf_threshold=7)
    services.block_network(actor="x", network=ME)
    number = now()
    services.unblock_network(BlocklistEntry.objects.get(), actor="x")
    system_settings.change(actor="x", waf_threshold=8, request_rate_per_minute=50)
    before = system_settings.current().request_rate_per_minute
    me.post(f"/policy/revisions/{number}/restore", {"force": True})
    assert system_settings.current().waf_threshold == 7
    system_settings.change(actor="bob", waf_threshold=20)

    assert later() == 1

    settings = system_settings.current()
    assert (settings.waf_threshold, settings.request_rate_per_minute) == (20, before)
    assert not BlocklistEntry.objects.exists()


def test_a_failed_revert_does_not_stop_the_agent(me, monkeypatch):
    me.post("/ip-black-list", {"ip": ME, "force": True})

    def refuse(*_, **__):
        raise ValidationError("not valid any more")

    monkeypatch.setattr(confirmation, "take_back", refuse)

    assert later() == 0
    assert confirmation.pending().get().problem == "not valid any more"
