"""Stale rows: a view reads a row before it calls a service, and the service respects changes in between."""

import pytest
from django.utils import timezone

from accounts import services as accounts
from accounts.identity_providers import services as providers
from accounts.models import IdentityProvider, Session, User
from accounts.sign_in import login
from accounts.visitor import Visitor
from gatewall.kernel.refusals import Gone
from licensing import services as licensing
from licensing.models import GitToken, License
from policies import rows
from policies import services as policies
from policies.lists import subscriptions
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry, ListSubscription, WafRule
from tests.support.proxies import PASSWORD
from tests.support.receiver import a_webhook
from webhooks import services as webhooks
from webhooks.models import Webhook

pytestmark = pytest.mark.django_db


def a_license():
    return licensing.issue_license(actor="alice", name="robot")[0]


def a_git_token():
    return licensing.issue_git_token(
        actor="alice", user_id=User.objects.get(username="Bob").pk, name="laptop", expires_at=None
    )[0]


ROWS = {
    "license": (a_license, licensing.revoke, licensing.change_license, {"remark": "x"}),
    "git token": (a_git_token, licensing.revoke, None, None),
    "user": (lambda: User.objects.get(username="Bob"), accounts.delete_user, accounts.change_user, {"remark": "x"}),
    "blocklist entry": (
        lambda: policies.block_network(actor="alice", network="203.0.113.7"),
        policies.unblock_network,
        policies.change_blocked_network,
        {"remark": "x"},
    ),
    "allowlist entry": (
        lambda: policies.allow_network(actor="alice", network="203.0.113.7"),
        policies.disallow_network,
        policies.change_allowed_network,
        {"remark": "x"},
    ),
    "domain": (
        lambda: policies.register_domain(actor="alice", name="a.example", access="public"),
        policies.remove_domain,
        policies.change_domain,
        {"remark": "x"},
    ),
    "geo rule": (
        lambda: policies.block_country(actor="alice", country_code="NZ"),
        policies.unblock_country,
        None,
        None,
    ),
    "WAF rule": (
        lambda: policies.create_waf_rule(actor="alice", name="mine", pattern="x"),
        policies.delete_waf_rule,
        policies.change_waf_rule,
        {"description": "x"},
    ),
    "list": (
        lambda: subscriptions.subscribe(actor="alice", name="drop", url="https://lists.example/drop.txt"),
        subscriptions.unsubscribe,
        subscriptions.change_subscription,
        {"remark": "x"},
    ),
    "identity provider": (
        lambda: providers.create_provider(
            actor="alice", slug="corp", name="Corp", issuer="https://corp.example", client_id="gatewall"
        ),
        providers.delete_provider,
        providers.change_provider,
        {"name": "x"},
    ),
    "webhook": (a_webhook, webhooks.delete_webhook, webhooks.change_webhook, {"remark": "x"}),
}
CHANGEABLE = {name: row for name, row in ROWS.items() if row[2]}


def copy_of(row):
    return type(row).objects.get(pk=row.pk)


@pytest.mark.parametrize("kind", CHANGEABLE.values(), ids=CHANGEABLE)
def test_change_of_a_deleted_row_does_not_bring_it_back(bob, kind):
    make, delete, change, values = kind
    row = make()
    stale = copy_of(row)
    delete(row, actor="alice")

    with pytest.raises(Gone):
        change(stale, actor="alice", **values)

    assert not type(stale).objects.filter(pk=stale.pk).exists()


@pytest.mark.parametrize("kind", ROWS.values(), ids=ROWS)
def test_deleting_a_row_twice_is_an_error(bob, kind):
    make, delete, _, _ = kind
    row = make()
    stale = copy_of(row)
    delete(row, actor="alice")

    with pytest.raises(Gone):
        delete(stale, actor="alice")


@pytest.mark.parametrize("kind", CHANGEABLE.values(), ids=CHANGEABLE)
def test_a_change_keeps_fields_that_another_change_wrote_meanwhile(bob, kind):
    make, _, change, values = kind
    first = make()
    second = copy_of(first)
    field, value = OTHERS[type(first)]
    change(first, actor="alice", **values)

    change(second, actor="alice", **{field: value})

    row = copy_of(first)
    assert {**values, field: value} == {name: getattr(row, name) for name in (*values, field)}


OTHERS = {
    License: ("is_active", False),
    User: ("email", "b@office.example"),
    BlocklistEntry: ("network", "203.0.113.8"),
    AllowlistEntry: ("inspect", True),
    AuthorizedDomain: ("access", "denied"),
    WafRule: ("enabled", False),
    ListSubscription: ("interval_minutes", 60),
    Webhook: ("least_severity", "low"),
    IdentityProvider: ("enabled", False),
}


SCOPED = {
    "allowlist entry": lambda domain: policies.allow_network(actor="alice", network="203.0.113.7", domain=domain),
    "WAF rule": lambda domain: policies.create_waf_rule(actor="alice", name="mine", pattern="x", domain=domain),
    "license": lambda domain: licensing.issue_license(actor="alice", name="robot", authorized_domains=[domain]),
    "user": lambda domain: accounts.create_user(
        actor="alice", username="dora", password=PASSWORD, authorized_domains=[domain]
    ),
}


@pytest.mark.parametrize("make", SCOPED.values(), ids=SCOPED)
def test_nothing_is_made_for_a_domain_that_was_removed_meanwhile(office, make):
    stale = copy_of(office)
    policies.remove_domain(office, actor="alice")

    with pytest.raises(rows.DomainRemoved):
        make(stale)


def test_no_git_token_is_issued_to_a_user_deleted_meanwhile(bob):
    accounts.delete_user(copy_of(bob), actor="alice")

    with pytest.raises(Gone):
        licensing.issue_git_token(actor="alice", user_id=bob.pk, name="laptop", expires_at=None)

    assert not GitToken.objects.exists()


def test_user_deleted_while_signing_in_is_not_signed_in(bob):
    accounts.delete_user(copy_of(bob), actor="alice")

    with pytest.raises(login.InvalidCredentials):
        login.open_session(
            login.Proven(bob, ("pwd",)),
            flow=login.GUARD,
            visitor=Visitor("192.0.2.1", ""),
            at=timezone.now(),
        )

    assert not Session.objects.exists()


def test_api_answers_404_for_a_row_that_was_deleted_meanwhile(admin, monkeypatch):
    entry = policies.block_network(actor="alice", network="203.0.113.7")
    stale = copy_of(entry)
    policies.unblock_network(entry, actor="alice")
    monkeypatch.setattr("policies.views.Blocklist.get_object", lambda _: stale)

    response = admin.delete(f"/ip-black-list/{stale.pk}")

    assert (response.status_code, response.json()["code"]) == (404, "not-found")


def test_api_answers_404_for_a_row_that_was_deleted_as_soon_as_it_was_made(admin, monkeypatch):
    def made_and_deleted(self, **values):
        entry = policies.block_network(actor="alice", **values)
        policies.unblock_network(copy_of(entry), actor="alice")
        return entry

    monkeypatch.setattr("policies.views.Blocklist.create_row", made_and_deleted)

    response = admin.post("/ip-black-list", {"ip": "203.0.113.7"})

    assert (response.status_code, response.json()["code"]) == (404, "not-found")
