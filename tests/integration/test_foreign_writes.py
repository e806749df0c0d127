"""Rows written directly to the database are enforced after a reload by every worker of both planes on every host."""

from dataclasses import replace

import pytest
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from accounts.models import Session, User
from gatewall.engine.addresses import parse_address
from gatewall.engine.hosts import Host
from gatewall.engine.snapshot import Segment
from gatewall.models import PolicyHead, SystemSettings
from gatewall.policy import revisions
from gatewall.publication import compiler
from gatewall.publication.standby import Standby
from gatewall.publication.store import DatabasePolicyStore
from gatewall.snapshot.assembly import Assembly
from gatewall.snapshot.holder import PolicyHolder
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.snapshot.notification import AgentLock
from gatewall.snapshot.published import PublishedPolicies
from licensing import services as licensing
from licensing.models import GitToken, License
from policies import services
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry, GeoBlockRule, WafRule
from tests.integration.test_fast_clocks import a_session
from tests.support.cast import NOW
from tests.support.processes import PATIENCE
from tests.support.proxies import a_user
from tests.support.valkey import caches_on, valkey

pytestmark = pytest.mark.django_db(transaction=True)
CLIENT = parse_address("203.0.113.7")


class Site:
    """One host of the database: its publisher, a worker of its data plane and two of its control plane."""

    def __init__(self, home):
        self.files, self.run = policy_files(replace(settings.CONFIG, home=home)), run_folder(home)
        self._publisher = Standby(self.files, self.run)
        self._data = PublishedPolicies(self.files)
        self._control = [PolicyHolder(DatabasePolicyStore(self.files)) for _ in range(2)]

    def look(self):
        """Do what happens on a host within a second: a publication, and a refresh of every worker."""
        self._publisher.turn()
        self._data.refresh()
        return self.policies()

    def policies(self):
        """Return the policy of each worker as it decides now."""
        return [self._data.current(), *(worker.current() for worker in self._control)]


@pytest.fixture
def here():
    return Site(settings.CONFIG.home)


@pytest.fixture
def elsewhere(tmp_path):
    return Site(tmp_path / "elsewhere")


def an_entry_of_a_new_source():
    return lambda: BlocklistEntry.objects.create(
        network=f"{CLIENT}", source="import:new"
    ), lambda policy: policy.lists.standing(CLIENT, None, NOW, allowlist_applies=True).blocked is not None


def an_entry_of(source):
    BlocklistEntry.objects.create(network="198.51.100.1", source=source)
    _, is_blocked = an_entry_of_a_new_source()
    return lambda: BlocklistEntry.objects.create(network=f"{CLIENT}", source=source), is_blocked


def a_user_is_disabled():
    user = a_user("victor")
    return lambda: User.objects.filter(pk=user.pk).update(
        is_active=False
    ), lambda policy: not policy.users[user.pk].is_active


def a_scope_is_taken():
    domain = services.register_domain(actor="", name="app.example", access="authenticated", seed=True)
    user = a_user("victor", all_domains=False, authorized_domains=[domain])
    return user.authorized_domains.clear, lambda policy: not policy.users[user.pk].domains


def a_git_token_is_deleted():
    token, _ = licensing.issue_git_token(actor="cast", user_id=a_user("victor").pk, name="laptop", expires_at=None)
    return GitToken.objects.filter(pk=token.pk).delete, lambda policy: token.digest not in policy.git_tokens


def a_license_is_disabled():
    row, _ = licensing.issue_license(actor="cast", name="farm")
    return lambda: License.objects.filter(pk=row.pk).update(
        is_active=False
    ), lambda policy: not policy.licenses[row.digest].is_active


def an_allowlist_entry_is_made():
    return lambda: AllowlistEntry.objects.create(
        network=f"{CLIENT}"
    ), lambda policy: policy.lists.standing(CLIENT, None, NOW, allowlist_applies=True).allowed is not None


def a_domain_is_denied():
    domain = services.register_domain(actor="", name="app.example", access="authenticated", seed=True)
    return lambda: AuthorizedDomain.objects.filter(pk=domain.pk).update(
        access="denied"
    ), lambda policy: policy.domains.match(Host.parse("app.example")).access == "denied"


def a_country_is_blocked():
    return lambda: GeoBlockRule.objects.create(country_code="NZ"), lambda policy: "NZ" in policy.blocked_countries


def a_waf_rule_is_changed():
    rule = services.create_waf_rule(actor="alice", name="canary", pattern="canary")
    return lambda: WafRule.objects.filter(pk=rule.pk).update(
        pattern="parrot"
    ), lambda policy: [each.pattern for each in policy.waf.rules] == ["parrot"]


def a_setting_is_changed():
    SystemSettings.objects.update_or_create(pk=1, defaults={"waf_threshold": 5})
    return lambda: SystemSettings.objects.update(waf_threshold=9), lambda policy: policy.settings.waf_threshold == 9


def a_session_is_revoked():
    session = a_session(a_user("victor"), timezone.now())
    return lambda: Session.objects.filter(pk=session.pk).update(
        revoked_at=timezone.now()
    ), lambda policy: str(session.pk) in policy.revoked_sessions


WRITES = {
    "blocklist entry": lambda: an_entry_of("manual"),
    "ban": lambda: an_entry_of("auto-ban"),
    "imported entry": lambda: an_entry_of("import:spam"),
    "first entry of a source": an_entry_of_a_new_source,
    "user": a_user_is_disabled,
    "scope": a_scope_is_taken,
    "git token": a_git_token_is_deleted,
    "license": a_license_is_disabled,
    "allowlist entry": an_allowlist_entry_is_made,
    "domain": a_domain_is_denied,
    "country": a_country_is_blocked,
    "WAF rule": a_waf_rule_is_changed,
    "setting": a_setting_is_changed,
    "revocation": a_session_is_revoked,
}


@pytest.fixture(params=WRITES.values(), ids=WRITES.keys())
def written(request, here, elsewhere):
    """Write a row without the services, after a decision of every worker; return the check whether it is enforced."""
    write, is_enforced = request.param()
    before = [*here.look(), *elsewhere.look()]
    assert not any(map(is_enforced, before)), "it says nothing"
    write()
    return is_enforced


def test_a_reload_of_the_api_enforces_it_on_every_worker(here, elsewhere, written, admin):
    answer = admin.post("/system/reload").json()

    assert "policy_pending" not in answer
    assert all(map(written, [*here.look(), *elsewhere.look()]))


def test_a_reload_of_the_command_line_enforces_it_on_every_worker(here, elsewhere, written):
    call_command("reload")

    assert all(map(written, [*here.look(), *elsewhere.look()]))


def test_a_second_host_publishes_it_first(here, elsewhere, written, monkeypatch):
    monkeypatch.setattr("gatewall.publication.announcement._WAIT_SECONDS", 0)
    with AgentLock(here.run).held():  # a leading agent that is busy
        revisions.demand_reload()

    assert all(map(written, elsewhere.look()))
    assert all(map(written, here.look()))


def test_rows_restored_with_an_old_number_of_reloads_are_read_again(here, elsewhere):
    services.block_country(actor="alice", country_code="FI")
    number, found = PolicyHead.objects.get().reloads, []
    for country in ("NZ", "TO"):
        GeoBlockRule.objects.update(country_code=country)
        PolicyHead.objects.update(reloads=number)

        call_command("reload")

        found.append({code for policy in [*here.look(), *elsewhere.look()] for code in policy.blocked_countries})

    assert found == [{"NZ"}, {"TO"}]


@pytest.fixture
def compiled(monkeypatch):
    """Return the segments that were compiled from rows."""
    found = []
    before = compiler.compiled_segment
    monkeypatch.setattr(compiler, "compiled_segment", lambda name: (found.append(name), before(name))[1])
    return found


@pytest.fixture
def built(monkeypatch):
    """Return the segments whose bytes were loaded into a table."""
    found = []
    before = Assembly._table

    def counted(self, name, data):
        known = self._tables.get(name)
        table = before(self, name, data)
        if known is None or known[1] is not table:
            found.append(name)
        return table

    monkeypatch.setattr(Assembly, "_table", counted)
    return found


def test_a_reload_rebuilds_only_changed_segments(here, elsewhere, built):
    services.block_network(actor="alice", network="198.51.100.1")
    here.look()
    elsewhere.look()
    GeoBlockRule.objects.create(country_code="NZ")
    built.clear()

    call_command("reload")
    here.look()
    elsewhere.look()

    assert built == [Segment.BLOCKED_COUNTRIES] * 6


@pytest.fixture
def shared_cache(settings):
    """Return a Valkey of both hosts, with a timeout for busy machines: after a timeout it is skipped for a while."""
    with valkey() as server:
        settings.CACHES = caches_on(server.port)
        settings.CACHES["default"]["OPTIONS"]["socket_timeout"] = PATIENCE
        yield


@pytest.mark.usefixtures("shared_cache")
def test_twenty_reloads_compile_each_segment_once_each_for_all_hosts_and_workers(here, elsewhere, compiled):
    services.block_network(actor="alice", network="198.51.100.1")
    here.look()
    elsewhere.look()
    segments = len(here.files.manifest().segments)
    compiled.clear()

    for _ in range(20):
        call_command("reload")
        here.look()
        elsewhere.look()

    assert len(compiled) == 20 * segments


def test_while_a_reload_is_not_published_the_control_plane_decides_as_before_and_compiles_nothing(
    here, compiled, monkeypatch
):
    monkeypatch.setattr("gatewall.publication.announcement._WAIT_SECONDS", 0)
    services.block_network(actor="alice", network="198.51.100.1")
    here.look()
    GeoBlockRule.objects.create(country_code="NZ")
    compiled.clear()

    with AgentLock(here.run).held():  # a leading agent that is busy
        revisions.demand_reload()
        policies = here.policies()

    assert compiled == []
    assert not any("NZ" in policy.blocked_countries for policy in policies)
    assert all("NZ" in policy.blocked_countries for policy in here.look())


def test_a_change_is_obeyed_while_a_reload_is_not_published(here, monkeypatch):
    monkeypatch.setattr("gatewall.publication.announcement._WAIT_SECONDS", 0)
    services.block_network(actor="alice", network="198.51.100.1")
    here.look()

    with AgentLock(here.run).held():
        revisions.demand_reload()
        here.policies()
        services.block_country(actor="alice", country_code="NZ")
        _, *control = here.policies()

    assert all("NZ" in policy.blocked_countries for policy in control)
    assert all("NZ" in policy.blocked_countries for policy in here.look())
