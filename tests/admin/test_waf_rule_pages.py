"""WAF rules through the real admin pages."""

import pytest

from gatewall.engine.model import Reason
from gatewall.engine.waf.vector import AVAILABLE
from gatewall.policy import revisions
from policies import services
from policies.models import WafRule
from policies.rules.builtin import seed_waf_rules


@pytest.fixture
def builtin(db):
    seed_waf_rules(actor="seed")
    return WafRule.objects.filter(builtin_key__isnull=False).first()


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


@pytest.mark.skipif(not AVAILABLE, reason="hyperscan is not available on this machine")
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
def test_the_page_refuses_an_invalid_waf_rule(pages, written):
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
