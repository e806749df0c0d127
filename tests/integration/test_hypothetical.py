"""A hypothetical policy has the change, and the change leaves no trace in the database."""

import pytest
from django.conf import settings

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from audit.models import SecurityEvent
from gatewall.engine.addresses import parse_address
from gatewall.engine.hosts import Host
from gatewall.engine.segments import blocked_networks_of
from gatewall.kernel.clientip import Caller
from gatewall.models import PendingConfirmation, PolicyRevision
from gatewall.policy import revisions, system_settings
from gatewall.publication import segment_cache
from gatewall.snapshot.host_paths import policy_files
from gatewall.whatif import hypothetical
from gatewall.whatif.hypothetical import PolicyMoves, effect_of, policies_with
from policies import services
from policies.models import BlocklistEntry
from tests.support.cast import CLIENT, OFFICE
from tests.support.receiver import a_webhook
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db(transaction=True)
CALLER = Caller(parse_address(CLIENT), Host(OFFICE))


@pytest.fixture
def published():
    """Return the versions that were published after a commit; put the publisher back at the end."""
    before, seen = list(revisions._hook), []
    revisions.call_after_commit(lambda version: seen.append(version) or True)
    yield seen
    revisions.call_after_commit(*before)


def files():
    return policy_files(settings.CONFIG)


def is_blocked(policy):
    return policy.lists.standing(parse_address(CLIENT), None, 0.0, allowlist_applies=True).blocked is not None


def test_the_second_policy_has_several_changes_at_once():
    def change():
        services.block_network(actor="x", network=CLIENT, force=True)
        system_settings.change(actor="x", request_rate_per_minute=7)

    policies = policies_with(change, files())

    assert [is_blocked(policy) for policy in (policies.before, policies.after)] == [False, True]
    assert policies.after.settings.request_rate_per_minute == 7 != policies.before.settings.request_rate_per_minute
    assert policies.after.version.revision == policies.before.version.revision + 1
    history, number = policies.histories[1], policies.after.version.revision
    assert not history.setting_is_as_of(number - 1, "request_rate_per_minute")
    assert history.setting_is_as_of(number - 1, "waf_mode")


def test_only_the_changed_segments_are_compiled_again(office):
    policies = policies_with(lambda: services.block_network(actor="x", network=CLIENT, force=True), files())

    assert policies.after.domains is policies.before.domains
    assert policies.after.waf is policies.before.waf
    effect = effect_of(lambda: services.block_network(actor="x", network=CLIENT, force=True))
    assert set(effect.segments) == {blocked_networks_of("manual")}


def test_a_hypothetical_change_leaves_no_trace(published, office):
    a_webhook()
    services.block_network(actor="alice", network="203.0.113.9")
    number, events, told = revisions.current().revision, SecurityEvent.objects.count(), Delivery.objects.count()
    published.clear()
    revisions.expect_confirmation(None)

    def change():
        services.block_network(actor="x", network=CLIENT, caller=CALLER, force=True)
        record_event(Event(EventKind.TWO_FACTOR_RECOVERED, detail={"actor": "x"}))
        assert revisions.confirm_by() is not None
        assert PendingConfirmation.objects.exists()
        assert Delivery.objects.count() > told

    policies_with(change, files())

    assert revisions.current().revision == number
    assert not BlocklistEntry.objects.filter(network=CLIENT).exists()
    assert not PendingConfirmation.objects.exists()
    assert not PolicyRevision.objects.filter(number__gt=number).exists()
    assert (SecurityEvent.objects.count(), Delivery.objects.count()) == (events, told)
    assert published == []
    assert (revisions.confirm_by(), revisions.publication_is_pending()) == (None, False)


def test_a_dry_run_leaves_the_callers_own_change_pending(published):
    revisions.call_after_commit(lambda _: False)
    services.block_network(actor="alice", network="203.0.113.9")
    assert revisions.publication_is_pending()

    policies_with(lambda: services.block_network(actor="x", network=CLIENT), files())

    assert revisions.publication_is_pending()


def test_a_failed_hypothetical_change_leaves_no_trace(published):
    def change():
        services.block_network(actor="x", network=CLIENT)
        raise LookupError("the second part is refused")

    with pytest.raises(LookupError):
        policies_with(change, files())

    assert (revisions.current().revision, published) == (0, [])


def test_a_policy_that_is_changed_all_the_time_is_refused(published, monkeypatch):
    numbers = iter(range(100))

    def overtaken(change):
        effect = effect_of(change)
        services.block_network(actor="y", network=f"203.0.113.{next(numbers)}")
        return effect

    monkeypatch.setattr(hypothetical, "effect_of", overtaken)

    with pytest.raises(PolicyMoves):
        policies_with(lambda: services.block_network(actor="x", network=CLIENT), files())


def test_hosts_share_no_segment_of_a_change_that_was_rolled_back(monkeypatch):
    kept = []
    monkeypatch.setattr(segment_cache, "keep", lambda *segment: kept.append(segment))

    effect_of(lambda: services.block_network(actor="x", network=CLIENT))

    assert kept == []
