"""The refusal watch reverts a change that refuses too many people who were let in before."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.conf import settings
from django.utils import timezone

from audit.models import AccessLog, SecurityEvent
from gatewall.models import PendingConfirmation, PolicyRevision, RefusalWatch
from gatewall.policy import revisions, system_settings
from gatewall.whatif import refusal_watch
from gatewall.whatif.refusal_watch import RefusalWatcher
from policies import services
from policies.access_rules.services import create_access_rule
from policies.history import confirmation
from policies.models import AccessRule, AuthorizedDomain, BlocklistEntry
from tests.support.cast import CLIENT, OFFICE

pytestmark = pytest.mark.django_db

AGENTS = {"alice": "Firefox/140", "bob": "Safari/19"}


class Town:
    """Two users that request pages through the gate, and the log of their requests."""

    def __init__(self, auth, tokens):
        self._auth, self._tokens = auth, tokens
        self.watcher = RefusalWatcher()

    def asks(self, name, uri="/", client=CLIENT):
        """Send a request as this user; return the status."""
        return self._auth(
            service_authorization=self._tokens[name],
            user_agent=AGENTS[name],
            x_forwarded_uri=uri,
            x_forwarded_for=client,
        ).status

    def check(self, minutes=0):
        """Ship the log and check the watches; return the number of reverted changes."""
        self._auth.gate.close()
        import_module("audit.storage.ingest").ship(settings.GATEWALL_HOME / "spool")
        return self.watcher.check(timezone.now() + timedelta(minutes=minutes))


@pytest.fixture
def town(auth, wall, alice, bob):
    services.register_domain(actor="", name=OFFICE, access="authenticated", seed=True)
    town = Town(auth, {"alice": wall.a_token(alice), "bob": wall.a_token(bob)})
    assert [town.asks(name, "/wiki") for name in ("alice", "bob")] == [200, 200]
    assert town.check() == 0
    return town


@revisions.one_at_a_time
def watched(change, *, people=0, minutes=5):
    """Make a change that may refuse this many people."""
    before = revisions.current().revision
    change()
    refusal_watch.start(before, people=people, minutes=minutes)


def deny(*, paths=(), **conditions):
    paths = [{"match": "prefix", "value": path} for path in paths]
    return lambda: create_access_rule(
        actor="carol",
        name="closed",
        access="denied",
        domains=[AuthorizedDomain.objects.get()],
        paths=paths,
        **conditions,
    )


def test_a_change_that_refuses_people_is_reverted_with_an_event(town, bob):
    watched(deny(users=[bob]))
    number = revisions.current().revision
    assert town.check() == 0

    assert (town.asks("alice"), town.asks("bob")) == (200, 403)
    assert town.check() == 1

    assert not AccessRule.objects.exists()
    assert town.asks("bob") == 200
    assert PolicyRevision.objects.latest("number").actor == f"system: {number} refused too many people"
    event = SecurityEvent.objects.get(kind="policy.reverted")
    (person,) = event.detail["people"]
    assert (event.detail["revision"], event.detail["limit"], person["name"], person["host"]) == (
        number,
        0,
        "Bob",
        OFFICE,
    )
    assert AccessLog.objects.get(pk=person["decision_id"]).outcome == "deny"
    assert RefusalWatch.objects.get().outcome == RefusalWatch.REVERTED
    assert town.check() == 0


def test_a_change_is_reverted_only_above_its_limit_of_refused_people(town, alice, bob):
    watched(deny(users=[bob, alice]), people=1)

    assert town.asks("bob") == 403
    assert town.check() == 0
    assert [person["name"] for person in RefusalWatch.objects.get().refused] == ["Bob"]
    assert town.asks("alice") == 403
    assert town.check() == 1


def test_a_good_change_is_left_alone_and_its_watch_ends(town):
    watched(deny(paths=["/admin"]))

    assert (town.asks("alice"), town.asks("bob")) == (200, 200)
    assert town.check(minutes=4) == 0
    assert town.check(minutes=6) == 0
    assert RefusalWatch.objects.get().outcome == RefusalWatch.KEPT
    assert AccessRule.objects.exists()


def test_an_earlier_refusal_does_not_count_against_the_change(town, bob):
    deny(paths=["/admin"])()
    watched(lambda: services.block_country(actor="carol", country_code="AQ"))

    assert town.asks("bob", "/admin") == 403
    assert town.check(minutes=6) == 0


def test_a_refusal_by_a_later_change_does_not_count_against_the_change(town, bob):
    watched(lambda: services.block_country(actor="carol", country_code="AQ"))
    deny(users=[bob])()

    assert town.asks("bob") == 403
    assert town.check(minutes=6) == 0
    assert RefusalWatch.objects.get().refused == []


def test_a_blocked_network_counts_its_earlier_users_as_refused(town):
    """Their credential was not checked, so they are identified by program and address."""
    watched(lambda: services.block_network(actor="carol", network=CLIENT), people=1)

    assert town.asks("alice") == 403
    assert town.check() == 0
    assert town.asks("bob") == 403
    assert town.check() == 1
    assert not BlocklistEntry.objects.exists()


@pytest.mark.parametrize("kind", ["waf-rules", "request-rate"])
def test_unreached_steps_with_unknown_facts_do_not_hide_a_refused_user(town, kind):
    """Built-in WAF rules inspect headers, which records lack, and a blocked client's rate is not counted."""
    if kind == "waf-rules":
        services.create_waf_rule(actor="carol", name="odd header", pattern="odd-value", targets=["headers"])
    else:
        system_settings.change(actor="carol", request_rate_per_minute=1_000)
    watched(lambda: services.block_network(actor="carol", network=CLIENT))

    assert town.asks("alice") == 403
    assert town.check() == 1
    assert not BlocklistEntry.objects.exists()


def test_a_refusal_by_an_earlier_rule_does_not_count_against_the_change(town):
    """A rule that denies every request decides before the credential: the blocked network refuses no further user."""
    services.create_waf_rule(actor="carol", name="odd header", pattern="odd-value", targets=["headers"])
    deny(paths=["/admin"])()
    watched(lambda: services.block_network(actor="carol", network=CLIENT))

    assert town.asks("bob", "/admin") == 403
    assert town.check(minutes=6) == 0


def test_a_stranger_from_the_same_network_is_not_counted(town, auth):
    watched(lambda: services.block_network(actor="carol", network=CLIENT))

    assert auth(user_agent="a scanner").status == 403
    assert town.check(minutes=6) == 0


def test_a_removed_domain_counts_its_earlier_users_as_refused(town, alice, bob):
    system_settings.change(actor="carol", authorized_domains_mode="registered")
    watched(lambda: services.remove_domain(AuthorizedDomain.objects.get(name=OFFICE), actor="carol"), people=1)

    assert (town.asks("alice"), town.asks("bob")) == (403, 403)
    assert town.check() == 1
    assert AuthorizedDomain.objects.filter(name=OFFICE).exists()


def test_a_change_that_waits_for_a_confirmation_too_is_settled_by_its_revert(town, bob):
    @revisions.one_at_a_time
    def change():
        before = revisions.current().revision
        deny(users=[bob])()
        refusal_watch.start(before, people=0, minutes=5)
        confirmation.ask_for_confirmation(before, None, seconds=600)

    change()
    assert town.asks("bob") == 403
    assert town.check() == 1
    assert PendingConfirmation.objects.get().outcome == PendingConfirmation.REVERTED
    assert confirmation.revert_overdue(timezone.now() + timedelta(minutes=20)) == 0


def test_a_restarted_agent_finds_the_same_people(town, bob):
    watched(deny(users=[bob]), people=1)
    assert town.asks("bob") == 403
    assert town.check() == 0

    town.watcher = RefusalWatcher()
    assert town.check() == 0
    assert [person["id"] for person in RefusalWatch.objects.get().refused] == [bob.pk]


def test_a_failed_revert_is_reported_and_tried_again(town, bob):
    watched(deny(users=[bob]))
    number = revisions.current().revision
    deny_later = PolicyRevision.objects.filter(number=number)
    changes = deny_later.get().changes
    deny_later.update(changes=None, counts=None)

    assert town.asks("bob") == 403
    assert town.check() == 0
    assert "before changes were recorded" in RefusalWatch.objects.get().problem

    deny_later.update(changes=changes)
    assert town.check() == 0  # not before a minute has passed
    assert town.check(minutes=2) == 1


def test_a_change_without_an_effect_is_not_watched(town):
    watched(lambda: None)

    assert not RefusalWatch.objects.exists()
