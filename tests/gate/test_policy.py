"""Every kind of deciding row: from the row to the answer of ``/auth``."""

import json

import pytest

from gatewall import __version__
from gatewall.policy import system_settings
from gatewall.snapshot import pattern_cache
from policies import services
from policies.rules.builtin import seed_waf_rules
from tests.support.cast import CLIENT, OFFICE
from tests.support.dialects import Question
from tests.support.mmdb import write_mmdb
from tests.support.proxies import a_git_token, a_license, a_token

pytestmark = [pytest.mark.django_db, pytest.mark.smoke]


def domain(name: str = OFFICE, access: str = "authenticated", *, seed: bool = True):
    return services.register_domain(actor="alice", name=name, access=access, seed=seed)


@pytest.fixture
def token(bob):
    return a_token(bob)


def test_a_blocked_client_is_refused_even_with_a_valid_token(auth, token):
    services.block_network(actor="alice", network="198.51.100.0/24")

    assert auth(service_authorization=token).verdict == (403, "client-blocked")


def test_an_allowed_client_needs_no_credential(auth):
    services.allow_network(actor="alice", network=CLIENT)

    assert auth().verdict == (200, "client-allowed")


def test_an_allowlist_entry_for_another_domain_does_not_apply(auth, office):
    services.allow_network(actor="alice", network=CLIENT, domain=domain("files.example"))

    assert auth().status == 401


def test_the_longest_prefix_of_both_lists_decides(auth):
    services.block_network(actor="alice", network="198.51.100.0/24")
    services.allow_network(actor="alice", network=CLIENT)

    assert auth().verdict == (200, "client-allowed")


def test_an_imported_entry_never_beats_the_allowlist(auth):
    services.block_network(actor="alice", network=CLIENT, source="import:feed")
    services.allow_network(actor="alice", network="198.51.100.0/24")

    assert auth().verdict == (200, "client-allowed")


def test_an_unregistered_host_is_refused_in_mode_registered(auth, token):
    domain("files.example", seed=False)

    assert auth(service_authorization=token).verdict == (403, "host-not-authorized")


def test_a_registered_host_is_asked_for_in_any_case_and_with_a_port(auth, token):
    domain(seed=False)

    assert auth(service_authorization=token, x_forwarded_host="OFFICE.Example.:8443").status == 200


def test_a_denied_domain_refuses_admins_too(auth, alice):
    domain(access="denied")

    assert auth(service_authorization=a_token(alice)).verdict == (403, "host-not-authorized")


def test_a_public_domain_needs_no_credential(auth):
    domain(access="public")

    assert auth().verdict == (200, "host-public")


def test_a_public_domain_still_identifies_a_visitor_with_a_valid_token(auth, token):
    domain(access="public")

    assert auth(service_authorization=token).headers["Remote-User"] == "Bob"


def test_a_public_domain_ignores_an_invalid_token(auth):
    domain(access="public")

    assert auth(service_authorization="no.good.token").verdict == (200, "host-public")


def test_a_rule_match_in_the_requested_uri_is_refused(auth, token):
    services.create_waf_rule(actor="alice", name="env files", pattern=r"/\.env$")

    assert auth(service_authorization=token, x_forwarded_uri="/a/.env").verdict == (403, "waf-rule")


@pytest.fixture
def builtin_rules(db):
    seed_waf_rules(actor="seed")


@pytest.mark.usefixtures("builtin_rules")
def test_the_builtin_rules_find_an_injection(auth, token):
    answer = auth(service_authorization=token, x_forwarded_uri="/?id=1%20UNION%20SELECT%20password%20FROM%20users")

    assert answer.verdict == (403, "waf-rule")


@pytest.mark.usefixtures("builtin_rules")
def test_the_builtin_rules_allow_an_ordinary_request(auth, token):
    assert auth(service_authorization=token, x_forwarded_uri="/search?q=union+of+workers&page=2").status == 200


def test_a_monitored_rule_refuses_nobody(auth, token):
    services.create_waf_rule(actor="alice", name="env files", pattern=r"/\.env$", action="monitor")

    assert auth(service_authorization=token, x_forwarded_uri="/.env").status == 200


def test_a_rule_for_one_domain_does_not_look_at_another(auth, token, office):
    services.create_waf_rule(actor="alice", name="env", pattern=r"/\.env$", domain=domain("files.example"))

    assert auth(service_authorization=token, x_forwarded_uri="/.env").status == 200


def test_a_scoped_user_enters_the_domain_of_the_scope(auth, charlie):
    assert auth(service_authorization=a_token(charlie)).status == 200


def test_a_scoped_user_does_not_enter_another_domain(auth, charlie):
    answer = auth(service_authorization=a_token(charlie), x_forwarded_host="files.example")

    assert answer.verdict == (403, "host-not-in-scope")


def test_a_git_token_enters_no_more_than_its_user(auth, charlie):
    answer = auth(service_git_token=f"charlie:{a_git_token(charlie)}", x_forwarded_host="files.example")

    assert answer.verdict == (403, "host-not-in-scope")


def test_a_scoped_license_does_not_enter_another_domain(auth, office):
    token = a_license(all_domains=False, authorized_domains=[office])

    assert auth(service_license=token, x_forwarded_host="files.example").verdict == (403, "host-not-in-scope")


def test_a_two_factor_domain_challenges_a_session_with_one_factor(auth, token):
    domain(access="two_factor")

    assert auth(service_authorization=token).verdict == (401, "second-factor-required")


def test_a_session_with_two_factors_enters_a_two_factor_domain(auth, bob):
    domain(access="two_factor")

    assert auth(service_authorization=a_token(bob, amr=("pwd", "otp"))).status == 200


def test_a_license_enters_a_two_factor_domain_only_if_its_scope_names_it(auth):
    named = a_license("named", all_domains=False, authorized_domains=[domain(access="two_factor")])
    everywhere = a_license("everywhere")

    assert (auth(service_license=named).status, auth(service_license=everywhere).status) == (200, 401)


def test_a_client_over_its_rate_is_refused_with_the_seconds_to_wait(auth, token):
    system_settings.change(request_rate_per_minute=2, actor="alice")
    answers = [auth(service_authorization=token) for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 403]
    assert answers[-1].reason == "client-rate-limited"
    assert int(answers[-1].headers["Retry-After"]) >= 1


@pytest.mark.parametrize(
    "record",
    [
        {"country": {"iso_code": "NZ", "names": {"en": "New Zealand"}}, "registered_country": {"iso_code": "AU"}},
        {"registered_country": {"iso_code": "NZ"}},
        {"country": "NZ", "continent": "OC"},
        {"country_code": "nz"},
    ],
    ids=["GeoLite2", "registered only", "IPinfo", "flat"],
)
def test_a_blocked_country_is_refused_with_databases_of_every_vendor(new_gate, settings, tmp_path, token, record):
    settings.GATEWALL_GEOIP_DATABASE = write_mmdb(tmp_path / "geo.mmdb", {"198.51.100.0/24": record})
    services.block_country(actor="alice", country_code="NZ")

    assert new_gate()(service_authorization=token).verdict == (403, "country-blocked")


@pytest.mark.parametrize(("mode", "status"), [("block", 403), ("allow", 200)])
def test_an_unknown_country_is_refused_where_the_settings_say_so(new_gate, settings, tmp_path, token, mode, status):
    settings.GATEWALL_GEOIP_DATABASE = write_mmdb(tmp_path / "geo.mmdb", {"2001:db8::/32": {"country": "NZ"}})
    system_settings.change(unknown_country=mode, actor="alice")

    # Documentation addresses count as private, so this must be a public address.
    assert new_gate()(service_authorization=token, x_forwarded_for="8.8.8.8").status == status


def test_a_country_is_found_for_an_address_of_version_six(new_gate, settings, tmp_path, token):
    settings.GATEWALL_GEOIP_DATABASE = write_mmdb(tmp_path / "geo.mmdb", {"2001:db8::/32": {"country": "NZ"}})
    services.block_country(actor="alice", country_code="NZ")

    answer = new_gate()(service_authorization=token, x_forwarded_for="2001:db8::7")

    assert answer.verdict == (403, "country-blocked")


HEALTH = ("/health", "/health/live", "/health/ready")


def test_the_data_plane_reports_its_waf_engine_and_is_ready(new_plane, monkeypatch):
    monkeypatch.setattr(pattern_cache, "AVAILABLE", False)
    seed_waf_rules(actor="seed")
    answer = new_plane("data")(Question("/wall/health", ()))

    checks = {"policy": "ok", "spool": "ok", "waf": pattern_cache.NO_ENGINE, "waf_engine": "re2"}
    assert (answer.status, json.loads(answer.body)) == (
        200,
        {"status": "ok", "version": __version__, "checks": checks},
    )


def test_the_data_plane_shows_strangers_only_its_status(new_plane):
    ask = new_plane("data")
    stranger, bearer = ("X-Forwarded-For", "203.0.113.9"), ("Authorization", "Bearer x")

    assert [json.loads(ask(Question(f"/wall{path}", (stranger, bearer))).body) for path in HEALTH] == [
        {"status": "ok"}
    ] * len(HEALTH)
