"""Committed changes decide the next request in every process; rolled-back changes never decide."""

from contextlib import suppress

import pytest
from django.db import transaction
from django.utils import timezone

from accounts import services as accounts
from accounts.models import Session, User
from gatewall.policy import system_settings
from licensing import services as licensing
from licensing.models import GitToken, License
from policies import services
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry, GeoBlockRule, WafRule
from tests.support.cast import CLIENT, OFFICE
from tests.support.mmdb import write_mmdb
from tests.support.proxies import PASSWORD, a_git_token, a_license, a_token

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ask(new_gate, settings, tmp_path, alice, bob):
    """Return a function that asks two processes, asserts equal answers, and returns the answer."""
    settings.GATEWALL_GEOIP_DATABASE = write_mmdb(tmp_path / "geo.mmdb", {"198.51.100.0/24": {"country": "NZ"}})
    gates = [new_gate(), new_gate()]
    credentials = {"service_authorization": a_token(bob)}

    def ask(**headers):
        verdicts = {gate(**(credentials | headers)).verdict for gate in gates}
        assert len(verdicts) == 1, verdicts
        return verdicts.pop()

    assert ask() == (200, "session-valid")  # both have loaded the policy before the change
    return ask


def block():
    return services.block_network(actor="alice", network=CLIENT)


def allow():
    return services.allow_network(actor="alice", network=CLIENT)


def register(name="files.example", access="authenticated"):
    return services.register_domain(actor="alice", name=name, access=access)


def rule(**values):
    return services.create_waf_rule(actor="alice", name="root", pattern="^/$", **values)


ADDED = {
    "blocklist entry": (block, "client-blocked"),
    "allowlist entry": (allow, "client-allowed"),
    "first domain": (register, "host-not-authorized"),
    "denied domain": (lambda: register(OFFICE, "denied"), "host-not-authorized"),
    "public domain": (lambda: register(OFFICE, "public"), "host-public"),
    "geo rule": (lambda: services.block_country(actor="alice", country_code="NZ"), "country-blocked"),
    "WAF rule": (rule, "waf-rule"),
    "settings": (
        lambda: system_settings.change(authorized_domains_mode="registered", actor="alice"),
        "host-not-authorized",
    ),
    "scope of the user": (
        lambda: accounts.change_user(User.objects.get(username="Bob"), all_domains=False, actor="alice"),
        "host-not-in-scope",
    ),
    "user disabled": (
        lambda: accounts.change_user(User.objects.get(username="Bob"), is_active=False, actor="alice"),
        "credential-invalid",
    ),
    "user deleted": (
        lambda: accounts.delete_user(User.objects.get(username="Bob"), actor="alice"),
        "credential-invalid",
    ),
    "password changed": (
        lambda: accounts.change_user(User.objects.get(username="Bob"), password=f"{PASSWORD} 2", actor="alice"),
        "credential-invalid",
    ),
    "logout": (
        lambda: accounts.revoke_session(Session.objects.get(user__username="Bob").pk, at=timezone.now()),
        "credential-invalid",
    ),
}


@pytest.mark.parametrize(("change", "reason"), ADDED.values(), ids=ADDED)
def test_a_committed_change_is_enforced_at_once(ask, change, reason):
    change()

    assert ask()[1] == reason


@pytest.mark.parametrize(("change", "reason"), ADDED.values(), ids=ADDED)
def test_a_change_that_is_rolled_back_is_never_enforced(ask, change, reason):
    with suppress(ZeroDivisionError), transaction.atomic():
        change()
        raise ZeroDivisionError

    assert ask() == (200, "session-valid")


@pytest.mark.parametrize(("change", "reason"), ADDED.values(), ids=ADDED)
def test_a_change_after_a_rolled_back_one_is_enforced(ask, change, reason):
    with suppress(ZeroDivisionError), transaction.atomic():
        services.block_network(actor="alice", network="203.0.113.1")
        raise ZeroDivisionError

    change()

    assert ask()[1] == reason


REMOVED = {
    "blocklist entry": (block, lambda: services.unblock_network(BlocklistEntry.objects.get(), actor="alice")),
    "blocklist entry changed": (
        block,
        lambda: services.change_blocked_network(BlocklistEntry.objects.get(), network="203.0.113.1", actor="alice"),
    ),
    "allowlist entry": (allow, lambda: services.disallow_network(AllowlistEntry.objects.get(), actor="alice")),
    "domain": (
        lambda: register(OFFICE, "public"),
        lambda: (
            services.remove_domain(AuthorizedDomain.objects.get(), actor="alice"),
            system_settings.change(authorized_domains_mode="any", actor="alice"),
        ),
    ),
    "access of a domain": (
        lambda: register(OFFICE, "denied"),
        lambda: services.change_domain(AuthorizedDomain.objects.get(), access="authenticated", actor="alice"),
    ),
    "geo rule": (
        lambda: services.block_country(actor="alice", country_code="NZ"),
        lambda: services.unblock_country(GeoBlockRule.objects.get(), actor="alice"),
    ),
    "WAF rule": (rule, lambda: services.delete_waf_rule(WafRule.objects.get(), actor="alice")),
    "WAF rule switched off": (
        rule,
        lambda: services.change_waf_rule(WafRule.objects.get(), enabled=False, actor="alice"),
    ),
    "WAF settings": (rule, lambda: system_settings.change(waf_mode="off", actor="alice")),
}


@pytest.mark.parametrize(("add", "remove"), REMOVED.values(), ids=REMOVED)
def test_a_removed_row_stops_deciding_at_once(ask, add, remove):
    add()
    assert ask() != (200, "session-valid")

    remove()

    assert ask() == (200, "session-valid")


def test_a_demotion_ends_the_sessions_of_an_admin(ask, alice, bob):
    accounts.change_user(bob, is_admin=True, actor="alice")
    token = a_token(alice)
    assert ask(service_authorization=token)[0] == 200

    accounts.change_user(alice, is_admin=False, actor="alice")

    assert ask(service_authorization=token) == (401, "credential-invalid")


def test_enabling_a_user_again_does_not_revive_old_sessions(ask, bob):
    accounts.change_user(bob, is_active=False, actor="alice")

    accounts.change_user(bob, is_active=True, actor="alice")

    assert ask() == (401, "credential-invalid")


def test_a_new_session_passes_at_once(ask, alice):
    assert ask(service_authorization=a_token(alice)) == (200, "session-valid")


def test_a_logout_ends_only_that_session(ask, bob):
    other = a_token(bob)

    accounts.revoke_session(Session.objects.filter(user=bob).earliest("issued_at").pk, at=timezone.now())

    assert {ask()[0], ask(service_authorization=other)[0]} == {200, 401}


MACHINES = {
    "license deleted": lambda: licensing.revoke(License.objects.get(), actor="alice"),
    "license disabled": lambda: licensing.change_license(License.objects.get(), is_active=False, actor="alice"),
    "license expired": lambda: licensing.change_license(
        License.objects.get(), expires_at=timezone.now(), actor="alice"
    ),
}


@pytest.mark.parametrize("change", MACHINES.values(), ids=MACHINES)
def test_a_license_becomes_invalid_at_once(ask, change):
    license_ = {"service_authorization": None, "service_license": a_license()}
    assert ask(**license_) == (200, "license-valid")

    change()

    assert ask(**license_) == (401, "credential-invalid")


GIT = {
    "token deleted": lambda _: licensing.revoke(GitToken.objects.get(), actor="alice"),
    "user disabled": lambda user: accounts.change_user(user, is_active=False, actor="alice"),
    "user deleted": lambda user: accounts.delete_user(user, actor="alice"),
    "user renamed": lambda user: accounts.change_user(user, username="robert", actor="alice"),
}


@pytest.mark.parametrize("change", GIT.values(), ids=GIT)
def test_a_git_token_becomes_invalid_at_once(ask, bob, change):
    git = {"service_authorization": None, "service_git_token": f"Bob:{a_git_token(bob)}"}
    assert ask(**git) == (200, "git-token-valid")

    change(bob)

    assert ask(**git) == (401, "credential-invalid")
