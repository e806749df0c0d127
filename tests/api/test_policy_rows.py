"""Rules specific to allowlist, domains and countries."""

import pytest

from gatewall.policy import system_settings
from licensing.models import License
from policies.models import AllowlistEntry, WafRule
from tests.api.resources import fields_refused
from tests.support.mmdb import write_mmdb

pytestmark = pytest.mark.django_db


def code(response):
    return response.status_code, response.json()["code"]


def test_an_allowlist_entry_names_its_domain(admin, office):
    body = admin.post("/ip-white-list", {"ip": "203.0.113.7", "domain": "OFFICE.example."}).json()

    assert body["domain"] == "office.example"


def test_an_allowlist_entry_for_an_unregistered_domain_is_refused(admin):
    body = {"ip": "203.0.113.7", "domain": "office.example"}

    assert fields_refused(admin.post("/ip-white-list", body)) == {"domain"}


@pytest.mark.parametrize("domain", [None, "office.example"])
def test_the_same_network_for_the_same_domain_is_a_duplicate(admin, office, domain):
    body = {"ip": "203.0.113.7", "domain": domain}
    admin.post("/ip-white-list", body)

    assert code(admin.post("/ip-white-list", {**body, "ip": "203.0.113.7/32"})) == (409, "duplicate")


def test_the_same_network_may_be_allowed_everywhere_and_for_one_domain(admin, office):
    answers = [
        admin.post("/ip-white-list", {"ip": "203.0.113.7", "domain": domain}) for domain in (None, "office.example")
    ]

    assert [answer.status_code for answer in answers] == [201, 201]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("Office.Example", "office.example"),
        ("office.example.", "office.example"),
        ("*.Office.example", "*.office.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("a_b.example", "a_b.example"),
        ("192.0.2.1", "192.0.2.1"),
        ("[2001:DB8::1]", "[2001:db8::1]"),
        ("localhost", "localhost"),
    ],
)
def test_a_domain_is_stored_in_its_one_spelling(admin, sent, stored):
    assert admin.post("/authorized-domains", {"name": sent}).json()["name"] == stored


@pytest.mark.parametrize(
    "name",
    [
        "https://office.example",
        "office.example:443",
        "office.example/",
        "*",
        "*.",
        "a.*.example",
        "**.example",
        "office..example",
        "-office.example",
        "office example",
        "*.192.0.2.1",
        "192.0.2.256",
        "0x7f.1",
        "a" * 64 + ".example",
        "xn--a-.example",
        "office.example,files.example",
        "",
    ],
)
def test_an_invalid_domain_name_is_refused(admin, name):
    assert fields_refused(admin.post("/authorized-domains", {"name": name})) == {"name"}


@pytest.mark.parametrize("name", ["BÜCHER.example", "xn--bcher-kva.example", "bücher.example."])
def test_the_same_domain_in_any_spelling_is_a_duplicate(admin, name):
    admin.post("/authorized-domains", {"name": "bücher.example"})

    assert code(admin.post("/authorized-domains", {"name": name})) == (409, "duplicate")


def test_the_first_registration_switches_the_mode_with_a_warning(admin):
    warnings = admin.post("/authorized-domains", {"name": "office.example"}).json()["warnings"]

    assert any("registered" in warning for warning in warnings)
    assert admin.get("/system/settings").json()["authorized_domains_mode"] == "registered"


def test_the_second_registration_gives_no_warning(admin):
    admin.post("/authorized-domains", {"name": "office.example"})

    assert "warnings" not in admin.post("/authorized-domains", {"name": "files.example"}).json()


def test_the_second_registration_leaves_the_mode_that_an_operator_chose(admin):
    admin.post("/authorized-domains", {"name": "office.example"})
    admin.put("/system/settings", {"authorized_domains_mode": "any"})

    admin.post("/authorized-domains", {"name": "files.example"})

    assert system_settings.current().authorized_domains_mode == "any"


def test_a_first_registration_that_is_refused_leaves_the_mode(admin, office):
    admin.post("/authorized-domains", {"name": "office.example"})

    assert system_settings.current().authorized_domains_mode == "any"


def test_removing_the_last_domain_does_not_turn_the_mode_back(admin):
    id_ = admin.post("/authorized-domains", {"name": "office.example"}).json()["id"]

    admin.delete(f"/authorized-domains/{id_}")

    assert system_settings.current().authorized_domains_mode == "registered"


def test_a_user_whose_last_domain_is_deleted_may_enter_none(admin, office, charlie):
    admin.delete(f"/authorized-domains/{office.pk}")

    body = admin.get(f"/users/{charlie.pk}").json()
    assert (body["all_domains"], body["authorized_domains"]) == (False, [])


def test_a_license_that_lost_the_last_domain_may_enter_none(admin, office):
    body = {"name": "build", "all_domains": False, "authorized_domains": ["office.example"]}
    admin.post("/licenses", body)

    admin.delete(f"/authorized-domains/{office.pk}")

    license_ = License.objects.get()
    assert (license_.all_domains, license_.authorized_domains.count()) == (False, 0)


def test_deleting_a_domain_deletes_its_allowlist_entries(admin, office):
    admin.post("/ip-white-list", {"ip": "203.0.113.7", "domain": "office.example"})

    admin.delete(f"/authorized-domains/{office.pk}")

    assert not AllowlistEntry.objects.exists()


def test_a_rule_for_one_domain_does_not_become_one_for_all(admin, office):
    admin.post("/waf-rules", {"name": "env", "pattern": "env", "domain": "office.example"})

    admin.delete(f"/authorized-domains/{office.pk}")

    assert not WafRule.objects.filter(domain__isnull=True).exists()


@pytest.mark.parametrize("sent", ["nz", "Nz", " NZ "])
def test_a_country_is_stored_in_capitals(admin, sent):
    body = admin.post("/geo-block-rules", {"country_code": sent}).json()

    assert (body["country_code"], body["country_name"]) == ("NZ", "New Zealand")


@pytest.mark.parametrize("sent", ["XX", "NZL", "N", "", "EU", "UK", "n\u017f"])
def test_an_unknown_country_is_refused(admin, sent):
    assert fields_refused(admin.post("/geo-block-rules", {"country_code": sent})) == {"country_code"}


def test_the_same_country_in_lower_case_is_a_duplicate(admin):
    admin.post("/geo-block-rules", {"country_code": "NZ"})

    assert code(admin.post("/geo-block-rules", {"country_code": "nz"})) == (409, "duplicate")


def test_a_country_without_a_database_comes_with_a_warning(admin):
    assert admin.post("/geo-block-rules", {"country_code": "NZ"}).json()["warnings"]


def test_a_country_with_a_database_comes_without_a_warning(admin, settings, tmp_path):
    settings.GATEWALL_GEOIP_DATABASE = write_mmdb(tmp_path / "geo.mmdb", {"2001:db8::/32": {"country": "NZ"}})

    assert "warnings" not in admin.post("/geo-block-rules", {"country_code": "NZ"}).json()
