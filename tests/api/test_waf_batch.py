"""Batch changes of the rules of a category: all in one revision, or none."""

import pytest

from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from policies import services
from policies.models import WafRule
from policies.rules.builtin import seed_waf_rules
from tests.api.resources import fields_refused

pytestmark = pytest.mark.django_db
PATH = "/waf-rules/batch"


@pytest.fixture(autouse=True)
def rules_as_they_come(db):
    seed_waf_rules(actor="seed")


def of(category, **values):
    return WafRule.objects.filter(category=category, **values).count()


@pytest.mark.parametrize(
    "change", [{"enabled": False}, {"action": "monitor"}, {"enabled": False, "action": "monitor"}], ids=str
)
def test_all_rules_of_the_category_change_and_no_other(admin, change):
    xss, others = of("xss"), WafRule.objects.exclude(category="xss")
    before = list(others.values())

    answer = admin.post(PATH, {"category": "xss", **change})

    assert (answer.status_code, answer.json()) == (200, {"category": "xss", "matched": xss, "changed": xss})
    assert of("xss", **change) == xss > 10
    assert list(others.values()) == before


def test_a_batch_is_one_revision_with_every_change(admin):
    before = revisions.current().revision
    name = WafRule.objects.filter(category="ssrf").first().name

    admin.post(PATH, {"category": "ssrf", "action": "monitor"})

    revision = PolicyRevision.objects.latest("number")
    assert (revision.number, revision.actor) == (before + 1, "alice")
    assert {each["name"] for each in revision.changes} == set(
        WafRule.objects.filter(category="ssrf").values_list("name", flat=True)
    )
    change = next(each for each in revision.changes if each["name"] == name)
    assert (change["before"], change["after"]) == ({"action": "block"}, {"action": "monitor"})


def test_rules_that_already_match_are_not_changed(admin):
    WafRule.objects.filter(builtin_key__in=["ssrf-scheme"]).update(enabled=False)

    first = admin.post(PATH, {"category": "ssrf", "enabled": False}).json()
    before = revisions.current()
    second = admin.post(PATH, {"category": "ssrf", "enabled": False}).json()

    assert (first["matched"], first["changed"]) == (of("ssrf"), of("ssrf") - 1)
    assert (second["changed"], revisions.current()) == (0, before)


def test_a_restore_undoes_a_batch(admin):
    number = revisions.current().revision
    admin.post(PATH, {"category": "sqli", "enabled": False})

    assert admin.post(f"/policy/revisions/{number}/restore").status_code == 200
    assert of("sqli", enabled=False) == 0


@pytest.mark.parametrize("builtin", [True, False, None])
def test_a_batch_can_select_built_in_or_custom_rules(admin, builtin):
    services.create_waf_rule(actor="alice", name="mine", pattern="gopher", category="ssrf")
    ours = set(WafRule.objects.filter(category="ssrf").values_list("name", flat=True)) - {"mine"}
    body = {"category": "ssrf", "enabled": False, **({} if builtin is None else {"builtin": builtin})}

    answer = admin.post(PATH, body).json()

    off = set(WafRule.objects.filter(enabled=False).values_list("name", flat=True))
    assert off == {True: ours, False: {"mine"}, None: ours | {"mine"}}[builtin]
    assert (answer["matched"], answer["changed"]) == (len(off), len(off))


def test_a_category_without_rules_is_no_error(admin):
    assert admin.post(PATH, {"category": "custom", "enabled": False}).json() == {
        "category": "custom",
        "matched": 0,
        "changed": 0,
    }


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"enabled": False}, "category"),
        ({"category": "worms", "enabled": False}, "category"),
        ({"category": None, "enabled": False}, "category"),
        ({"category": ["xss"], "enabled": False}, "category"),
        ({"category": "xss"}, "enabled"),
        ({"category": "xss", "enabled": "no"}, "enabled"),
        ({"category": "xss", "action": "allow"}, "action"),
        ({"category": "xss", "enabled": False, "builtin": 1}, "builtin"),
        ({"category": "xss", "enabled": False, "score": 1}, "score"),
    ],
    ids=str,
)
def test_an_invalid_body_changes_nothing(admin, body, field):
    before = revisions.current()

    assert fields_refused(admin.post(PATH, body)) == {field}
    assert revisions.current() == before


@pytest.mark.parametrize("kept", [{"action": "monitor"}, {"enabled": False}], ids=str)
def test_a_rule_that_matches_everything_refuses_the_whole_batch(admin, kept):
    services.create_waf_rule(actor="alice", name="all", pattern=".", **kept)
    services.create_waf_rule(actor="alice", name="other", pattern="x", **kept)
    wanted = {"category": "custom", "action": "block", "enabled": True}

    refused = admin.post(PATH, wanted)
    after_refusal = of("custom", action="block", enabled=True)
    forced = admin.post(PATH, {**wanted, "force": True})

    assert (refused.status_code, refused.json()["code"]) == (409, "matches-everything")
    assert "all" in refused.json()["detail"]
    assert after_refusal == 0
    assert forced.json()["changed"] == 2


def test_a_request_is_let_through_as_soon_as_the_category_is_off(admin, auth):
    attack = "/?q=%3Cscript%3Ealert(1)%3C/script%3E"
    before = auth(x_forwarded_uri=attack).verdict

    admin.post(PATH, {"category": "xss", "enabled": False})

    assert (before[1], auth(x_forwarded_uri=attack).verdict[1]) == ("waf-rule", "credential-missing")
