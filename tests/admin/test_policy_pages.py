"""IP lists, domains, countries, WAF rules and settings through the real admin pages."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone, translation

from gatewall.admin import settings_words
from gatewall.engine.model import Reason
from gatewall.engine.waf.vector import AVAILABLE
from gatewall.models import SystemSettings
from gatewall.policy import revisions, system_settings
from policies import services
from policies.access_choices import WHO_ENTERS
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry, GeoBlockRule, WafRule
from policies.rules.builtin import seed_waf_rules
from tests.admin.conftest import ADMIN
from tests.support.cast import CLIENT, OFFICE


@pytest.fixture
def builtin(db):
    seed_waf_rules(actor="seed")
    return WafRule.objects.filter(builtin_key__isnull=False).first()


def test_a_network_is_blocked_changed_and_unblocked(pages, decide):
    before = revisions.current()

    assert pages.submit("/policies/blocklistentry/add/", network=" 198.51.100.0/24 ").status_code == 302
    blocked = revisions.current()
    assert blocked.supersedes(before)
    assert decide(client=CLIENT) is Reason.CLIENT_BLOCKED
    entry = BlocklistEntry.objects.get()
    assert (entry.network, entry.created_by, entry.source) == ("198.51.100.0/24", "alice", "manual")

    assert pages.submit(f"/policies/blocklistentry/{entry.pk}/change/", network="203.0.113.0/24").status_code == 302
    changed = revisions.current()
    assert changed.supersedes(blocked)
    assert decide(client=CLIENT) is Reason.CREDENTIAL_MISSING
    assert decide(client="203.0.113.9") is Reason.CLIENT_BLOCKED

    assert pages.delete(f"/policies/blocklistentry/{entry.pk}/delete/").status_code == 302
    assert revisions.current().supersedes(changed)
    assert decide(client="203.0.113.9") is Reason.CREDENTIAL_MISSING


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("198.51.100.7/32", "198.51.100.7"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("2001:0db8:0000:0000:0000:0000:0000:0001/128", "2001:db8::1"),
    ],
)
def test_any_spelling_of_a_network_is_stored_as_one(pages, typed, stored):
    pages.submit("/policies/blocklistentry/add/", network=typed)

    assert BlocklistEntry.objects.get().network == stored


@pytest.mark.parametrize("typed", ["198.51.100.7/24", "not a network", "", "fe80::1%eth0"])
def test_what_is_no_network_is_refused_on_the_page(pages, typed):
    before = revisions.current()

    response = pages.submit("/policies/blocklistentry/add/", network=typed)

    assert response.status_code == 200
    assert "errorlist" in pages.words(response)
    assert revisions.current() == before


def test_a_refusal_is_shown_in_the_form_and_changes_nothing(pages):
    services.block_network(actor="test", network="198.51.100.0/24")
    before = revisions.current()

    response = pages.submit("/policies/blocklistentry/add/", network="198.51.100.0/24", remark="kept in the form")

    assert response.status_code == 200
    assert "198.51.100.0/24 is there already" in pages.words(response)
    assert "kept in the form" in pages.words(response)
    assert BlocklistEntry.objects.count() == 1
    assert revisions.current() == before


def test_a_refused_change_is_shown_in_the_form_and_changes_nothing(pages):
    services.block_network(actor="test", network="198.51.100.0/24")
    other = services.block_network(actor="test", network="203.0.113.0/24")
    before = revisions.current()

    response = pages.submit(f"/policies/blocklistentry/{other.pk}/change/", network="198.51.100.0/24")

    assert response.status_code == 200
    assert "is there already" in pages.words(response)
    assert BlocklistEntry.objects.get(pk=other.pk).network == "203.0.113.0/24"
    assert revisions.current() == before


def test_a_very_large_network_is_blocked_by_force_only(pages):
    response = pages.submit("/policies/blocklistentry/add/", network="64.0.0.0/2")
    assert response.status_code == 200
    assert BlocklistEntry.objects.count() == 0

    assert pages.submit("/policies/blocklistentry/add/", network="64.0.0.0/2", force="on").status_code == 302
    assert BlocklistEntry.objects.get().network == "64.0.0.0/2"


def test_saving_an_unchanged_row_makes_no_revision(pages):
    entry = services.block_network(actor="test", network="198.51.100.0/24")
    before = revisions.current()

    assert pages.submit(f"/policies/blocklistentry/{entry.pk}/change/").status_code == 302

    assert revisions.current() == before


def test_the_form_of_a_row_that_is_gone_leads_back(pages):
    entry = services.block_network(actor="test", network="198.51.100.0/24")
    path = f"/policies/blocklistentry/{entry.pk}/change/"
    services.unblock_network(entry, actor="alice")

    assert pages.get(path).status_code == 302


def test_a_network_is_allowed_changed_and_disallowed(pages, decide, office):
    before = revisions.current()

    assert pages.submit("/policies/allowlistentry/add/", network=CLIENT, domain=office.pk).status_code == 302
    allowed = revisions.current()
    assert allowed.supersedes(before)
    assert decide(client=CLIENT, host=OFFICE) is Reason.CLIENT_ALLOWED
    assert decide(client=CLIENT, host="other.example") is Reason.CREDENTIAL_MISSING
    entry = AllowlistEntry.objects.get()

    assert pages.submit(f"/policies/allowlistentry/{entry.pk}/change/", domain="").status_code == 302
    changed = revisions.current()
    assert changed.supersedes(allowed)
    assert decide(client=CLIENT, host="other.example") is Reason.CLIENT_ALLOWED

    assert pages.delete(f"/policies/allowlistentry/{entry.pk}/delete/").status_code == 302
    assert revisions.current().supersedes(changed)
    assert decide(client=CLIENT, host=OFFICE) is Reason.CREDENTIAL_MISSING


def test_an_expired_allowlist_entry_gives_way_to_a_new_one(pages, decide):
    services.allow_network(actor="test", network=CLIENT, expires_at=timezone.now() - timedelta(hours=1))

    assert pages.submit("/policies/allowlistentry/add/", network=CLIENT).status_code == 302

    assert decide(client=CLIENT) is Reason.CLIENT_ALLOWED


def test_a_domain_is_registered_changed_and_removed(pages, decide):
    before = revisions.current()

    form = pages.get("/policies/authorizeddomain/add/").content.decode()
    assert re.findall(r'type="radio" name="access" value="([a-z_]+)"', form) == [each.value for each in WHO_ENTERS]
    assert "users who signed in with a second factor" in form
    assert pages.submit("/policies/authorizeddomain/add/", name="Bücher.Example.", access="public").status_code == 302
    registered = revisions.current()
    assert registered.supersedes(before)
    domain = AuthorizedDomain.objects.get()
    assert domain.name == "xn--bcher-kva.example"
    assert system_settings.current().authorized_domains_mode == "registered"
    assert decide(host="xn--bcher-kva.example") is Reason.HOST_PUBLIC
    assert decide(host="other.example") is Reason.HOST_NOT_AUTHORIZED

    assert pages.submit(f"/policies/authorizeddomain/{domain.pk}/change/", access="denied").status_code == 302
    changed = revisions.current()
    assert changed.supersedes(registered)
    assert decide(host="xn--bcher-kva.example") is Reason.HOST_NOT_AUTHORIZED

    assert pages.delete(f"/policies/authorizeddomain/{domain.pk}/delete/").status_code == 302
    assert revisions.current().supersedes(changed)
    assert not AuthorizedDomain.objects.exists()


def test_names_of_identity_headers_are_chosen_on_the_page_of_a_domain(pages, office):
    page = f"/policies/authorizeddomain/{office.pk}/change/"

    assert pages.submit(page, identity_headers=["X-Webauth-User", "Remote-Groups"]).status_code == 302
    office.refresh_from_db()
    assert office.identity_headers == ["X-Webauth-User", "Remote-Groups"]

    assert pages.submit(page, identity_headers=["Host"]).status_code == 200
    assert pages.submit(page, identity_headers=[]).status_code == 302
    office.refresh_from_db()
    assert office.identity_headers == []


def test_a_domain_of_a_taken_name_is_refused(pages, office):
    before = revisions.current()

    response = pages.submit("/policies/authorizeddomain/add/", name=OFFICE.upper(), access="public")

    assert "is there already" in pages.words(response)
    assert revisions.current() == before


def test_a_country_is_blocked_and_unblocked(pages, decide):
    before = revisions.current()

    assert pages.submit("/policies/geoblockrule/add/", country_code="DE").status_code == 302
    blocked = revisions.current()
    assert blocked.supersedes(before)
    assert decide(country="DE") is Reason.COUNTRY_BLOCKED
    rule = GeoBlockRule.objects.get()
    assert "Germany" in pages.words(pages.get(f"/policies/geoblockrule/{rule.pk}/change/"))

    assert pages.delete(f"/policies/geoblockrule/{rule.pk}/delete/").status_code == 302
    assert revisions.current().supersedes(blocked)
    assert decide(country="DE") is Reason.CREDENTIAL_MISSING


@pytest.mark.parametrize("sent", ["XX", "Germany", "", "de"])
def test_a_country_that_cannot_be_picked_is_refused(pages, sent):
    response = pages.submit("/policies/geoblockrule/add/", country_code=sent)

    assert response.status_code == 200
    assert "errorlist" in pages.words(response)
    assert not GeoBlockRule.objects.exists()


def test_a_country_is_picked_by_its_name(pages):
    words = pages.words(pages.get("/policies/geoblockrule/add/"))

    assert '<option value="DE">Germany (DE)</option>' in words
    assert 'type="text" name="country_code"' not in words


def test_a_waf_rule_is_created_changed_and_deleted(pages, decide):
    before = revisions.current()

    written = {"name": "no-attack", "pattern": "attack ", "operator": "contains", "targets": ["path", "query"]}
    assert pages.submit("/policies/wafrule/add/", transforms="url-decode, lowercase", **written).status_code == 302
    created = revisions.current()
    assert created.supersedes(before)
    rule = WafRule.objects.get()
    assert (rule.pattern, rule.targets, rule.transforms) == ("attack ", ["path", "query"], ["url-decode", "lowercase"])
    assert rule.exclusions == []
    assert decide(uri="/ATTACK%20x") is Reason.WAF_RULE

    change = f"/policies/wafrule/{rule.pk}/change/"
    row = {"exclusions_path_kind": "path_prefix", "exclusions_path": "/attack x", "exclusions_part": ""}
    row |= dict.fromkeys(("exclusions_domain", "exclusions_name", "exclusions_expires"), "")
    assert pages.submit(change, **row).status_code == 302
    spared = revisions.current()
    assert spared.supersedes(created)
    assert WafRule.objects.get().exclusions == [{"path_prefix": "/attack x"}]
    assert pages.submit(change, exclusions_path="", enabled=None).status_code == 302
    disabled = revisions.current()
    assert disabled.supersedes(spared)
    assert decide(uri="/ATTACK%20x") is Reason.CREDENTIAL_MISSING
    assert WafRule.objects.get().exclusions == []

    assert pages.delete(f"/policies/wafrule/{rule.pk}/delete/").status_code == 302
    assert revisions.current().supersedes(disabled)
    assert not WafRule.objects.exists()


@pytest.mark.skipif(not AVAILABLE, reason="there is no hyperscan for this machine")
def test_author_of_a_waf_rule_that_is_scanned_apart_is_warned(pages):
    words = "RE2 scans for this pattern by itself"

    pages.submit("/policies/wafrule/add/", name="odd", pattern="a$b", targets=["path"])
    assert words in pages.get("/policies/wafrule/").content.decode()
    pages.submit(f"/policies/wafrule/{WafRule.objects.get().pk}/change/", pattern="a.b")
    assert words not in pages.get("/policies/wafrule/").content.decode()


def test_saving_an_unchanged_waf_rule_makes_no_revision(pages):
    rule = services.create_waf_rule(
        actor="test",
        name="r",
        pattern="\n x\ny ",
        targets=["query", "path"],
        transforms=["lowercase", "url-decode"],
        exclusions=[
            {"domain": "a.example", "path_glob": "/x/*", "json_path": "$.a", "expires_at": "2030-01-31T12:00:00Z"},
            {"header": "X-Note"},
        ],
    )
    before = revisions.current()

    pages.submit(f"/policies/wafrule/{rule.pk}/change/")

    assert revisions.current() == before


@pytest.mark.parametrize(
    "written",
    [
        {"pattern": "("},
        {"pattern": r"(a)\1"},
        {"transforms": "rot13"},
        {"exclusions_name": "q"},
        {"exclusions_path": "x"},
    ],
)
def test_a_waf_rule_that_cannot_be_is_refused(pages, written):
    before = revisions.current()

    response = pages.submit("/policies/wafrule/add/", **{"name": "bad", "pattern": "x", **written})

    assert response.status_code == 200
    assert "errorlist" in pages.words(response)
    assert revisions.current() == before


def test_a_pattern_that_matches_everything_is_refused_unless_the_box_is_ticked(pages):
    refused = pages.submit("/policies/wafrule/add/", name="all", pattern=".*", targets=["uri"])
    rows = WafRule.objects.count()
    forced = pages.submit("/policies/wafrule/add/", name="all", pattern=".*", targets=["uri"], force="on")

    assert (refused.status_code, rows, forced.status_code) == (200, 0, 302)
    assert "matches an empty text" in pages.words(refused)
    assert WafRule.objects.get().pattern == ".*"


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [
        ("switch_on", {"enabled": False}, {"enabled": True}),
        ("switch_off", {}, {"enabled": False}),
        ("block", {"action": "monitor"}, {"action": "block"}),
        ("monitor", {}, {"action": "monitor"}),
    ],
)
def test_chosen_waf_rules_change_in_one_revision(pages, action, before, after):
    one, two, other = (
        services.create_waf_rule(actor="test", name=name, pattern=name, **before) for name in ("one", "two", "three")
    )
    was = revisions.current().revision

    response = pages.choose("/policies/wafrule/", action, one, two)

    assert response.status_code == 302
    assert "2 of 2 rules changed" in pages.words(response)
    assert revisions.current().revision == was + 1
    assert set(WafRule.objects.filter(**after)) == {one, two}
    assert WafRule.objects.get(pk=other.pk).name == "three"


def test_chosen_waf_rules_are_not_switched_on_where_one_matches_everything(pages):
    chosen = [
        services.create_waf_rule(actor="test", name=name, pattern=pattern, enabled=False)
        for name, pattern in (("one", "one"), ("all", "."))
    ]
    was = revisions.current()

    response = pages.choose("/policies/wafrule/", "switch_on", *chosen)

    assert "the pattern matches every one" in pages.words(response)
    assert (revisions.current(), WafRule.objects.filter(enabled=True).count()) == (was, 0)


def test_the_pattern_of_a_builtin_rule_is_shown_and_fixed(pages, builtin):
    pattern = builtin.pattern

    response = pages.submit(
        f"/policies/wafrule/{builtin.pk}/change/", pattern="nothing", operator="equals", action="monitor"
    )

    assert response.status_code == 302
    builtin.refresh_from_db()
    assert (builtin.pattern, builtin.operator, builtin.action) == (pattern, "regex", "monitor")


def test_a_builtin_rule_cannot_be_deleted(pages, builtin):
    before = revisions.current()

    assert pages.get(f"/policies/wafrule/{builtin.pk}/delete/").status_code == 403
    assert pages.delete_chosen("/policies/wafrule/", builtin).status_code == 403

    assert WafRule.objects.filter(pk=builtin.pk).exists()
    assert revisions.current() == before


def test_rows_chosen_in_the_list_are_deleted_by_the_service(pages, decide):
    rows = [services.block_network(actor="test", network=each) for each in (CLIENT, "203.0.113.9")]
    before = revisions.current()

    assert pages.delete_chosen("/policies/blocklistentry/", *rows).status_code == 302

    assert revisions.current().supersedes(before)
    assert decide(client=CLIENT) is Reason.CREDENTIAL_MISSING


def test_the_settings_are_changed_and_neither_added_nor_deleted(pages, decide):
    before = revisions.current()
    assert pages.get("/gatewall/systemsettings/").url.endswith("/gatewall/systemsettings/1/change/")

    response = pages.submit("/gatewall/systemsettings/1/change/", authorized_domains_mode="registered")

    assert response.status_code == 302
    assert revisions.current().supersedes(before)
    assert decide(host="other.example") is Reason.HOST_NOT_AUTHORIZED
    assert pages.get("/gatewall/systemsettings/add/").status_code == 403
    assert pages.get("/gatewall/systemsettings/1/delete/").status_code == 403
    assert pages.get("/gatewall/systemsettings/2/change/").status_code == 302


def test_a_setting_out_of_range_is_refused(pages):
    before = revisions.current()

    response = pages.submit("/gatewall/systemsettings/1/change/", waf_threshold="0")

    assert "errorlist" in pages.words(response)
    assert revisions.current() == before


def test_every_setting_is_on_the_page_once_in_words(pages):
    html = pages.get("/gatewall/systemsettings/1/change/").content.decode()
    named = [name for group in settings_words.GROUPS for name in group.settings]

    assert sorted(named) == sorted(column.name for column in SystemSettings.columns())
    for column in SystemSettings.columns():
        words = settings_words.WORDS[column.name]
        assert html.count(f'name="{column.name}"') == 1
        assert set(words.choices) == {value for value, _label in column.choices or ()}, column.name
        assert str(words.effect) in html
    assert "Default: 24 hours. From 1 to 8,760. New sessions only" in html


def test_bytes_are_edited_in_mebibytes_and_stay_exact(pages):
    assert 'value="5120"' in pages.get("/gatewall/systemsettings/1/change/").content.decode()
    pages.submit("/gatewall/systemsettings/1/change/", waf_threshold="6")
    assert system_settings.current().access_log_max_bytes == 5 * 2**30

    pages.submit("/gatewall/systemsettings/1/change/", access_log_max_bytes="100.5")
    assert system_settings.current().access_log_max_bytes == 100 * 2**20 + 2**19
    refused = pages.submit("/gatewall/systemsettings/1/change/", access_log_max_bytes="63")
    assert "from 64 to 1,073,741,824" in pages.words(refused)
    assert "errorlist" in pages.words(pages.submit("/gatewall/systemsettings/1/change/", access_log_max_bytes="inf"))


def test_the_settings_are_in_chinese_for_chinese_readers(pages):
    with translation.override("en"):
        url = f"{ADMIN}/gatewall/systemsettings/1/change/"
        html = pages.client.get(url, headers={"Accept-Language": "zh-CN"}).content.decode()

    assert "会话有效期" in html
    assert "24 小时" in html
    assert not re.findall(r"<label[^>]*>[^<]*[a-z]{4}[^<]*</label>", html.replace("webhook", ""))
