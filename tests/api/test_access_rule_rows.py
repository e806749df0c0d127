"""Access rules and the rows that they name: deletion of these rows, restore, and filters by them."""

import pytest

from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from policies import policy_source
from policies.access_rules import services
from policies.history.restore import restore
from policies.history.rollback import take_back
from policies.models import AccessRule, AuthorizedDomain
from tests.api.rule_order import the_order
from tests.support.proxies import a_user, code_of

pytestmark = pytest.mark.django_db


def test_a_rule_without_its_last_domain_or_user_is_disabled(admin, office):
    zoe, domain = a_user("zoe"), {"domains": ["office.example"]}
    admin.post("/authorized-domains", {"name": "other.example"})
    for name, values in {
        "domain": domain,
        "domains": {"domains": ["office.example", "other.example"]},
        "user": {"users": ["zoe"]},
        "both": {**domain, "users": ["zoe"]},
    }.items():
        admin.post("/access-rules", {"name": name, "access": "two_factor", **values})

    admin.delete(f"/authorized-domains/{office.pk}")
    off = {rule.name for rule in AccessRule.objects.filter(enabled=False)}
    assert off == {"domain", "both"}
    before = revisions.current().revision
    admin.delete(f"/users/{zoe.pk}")
    off = {rule.name for rule in AccessRule.objects.filter(enabled=False)}
    assert off == {"domain", "both", "user"}
    assert revisions.current().revision == before + 1
    recorded = [each for each in PolicyRevision.objects.latest("number").changes if each["resource"] == "access-rules"]
    assert {each["name"]: each["after"].get("enabled") for each in recorded} == {"user": False, "both": None}
    assert [rule.domains for rule in policy_source.access_rules()] == [{"other.example"}]


def test_a_group_that_a_rule_names_cannot_be_deleted(admin, rules):
    group = admin.post("/groups", {"name": "family"}).json()["id"]
    ids = rules("one", "two", groups=["family"])
    refused = admin.delete(f"/groups/{group}")

    assert code_of(refused) == (409, "group-in-use")
    assert "one, two" in refused.json()["detail"]
    for id_ in ids:
        admin.delete(f"/access-rules/{id_}")
    assert admin.delete(f"/groups/{group}").status_code == 204


def test_a_restore_brings_conditions_and_order_back(admin, bob, office, rules):
    zoe = a_user("zoe")
    ids = rules("a", domains=["office.example"], users=["bob", "zoe"]) + rules("b", "c", users=["zoe"])
    past = revisions.current().revision
    admin.put(f"/authorized-domains/{office.pk}", {"name": "renamed.example"})
    admin.put(f"/access-rules/{ids[0]}", {"position": 3, "domains": [], "users": [], "paths": []})
    admin.delete(f"/authorized-domains/{office.pk}")
    admin.delete(f"/access-rules/{ids[1]}")
    rules("d", position=1)
    admin.delete(f"/users/{zoe.pk}")
    restore(past, actor="alice")

    assert the_order() == "abc"
    found = {rule.name: rule for rule in AccessRule.objects.all()}
    assert [domain.name for domain in found["a"].domains.all()] == ["office.example"]
    assert [user.username for user in found["a"].users.all()] == ["Bob"]
    assert {name: rule.enabled for name, rule in found.items()} == {"a": True, "b": False, "c": False}
    assert [rule.pk for rule in found.values()] == ids


def test_reverting_a_change_keeps_the_order_of_later_rules(admin, rules):
    ids = rules(*"abc")
    before = revisions.current().revision
    admin.delete(f"/access-rules/{ids[0]}")
    last = revisions.current().revision
    rules("d", position=1)
    take_back(before, last, actor="alice")

    assert sorted(the_order()) == list("abcd")
    assert the_order().replace("d", "") == "abc"


def test_reverting_a_domain_disables_a_later_rule_for_it(admin, rules):
    before = revisions.current().revision
    admin.post("/authorized-domains", {"name": "new.example"})
    last = revisions.current().revision
    [id_] = rules("later", domains=["new.example"])
    take_back(before, last, actor="alice")

    assert not AuthorizedDomain.objects.filter(name="new.example").exists()
    assert not AccessRule.objects.get(pk=id_).enabled
    assert "access-rules" in PolicyRevision.objects.latest("number").resources


def test_services_reread_the_users_of_a_rule(bob, office):
    rule = services.create_access_rule(actor="x", name="a", access="denied", domains=[office])
    bob.delete()

    with pytest.raises(services.UserRemoved):
        services.change_access_rule(rule, actor="x", users=[bob])


def test_rules_are_filtered_by_the_rows_they_name(admin, bob, office):
    admin.post("/groups", {"name": "family"})
    for body in (
        {"name": "one", "access": "public", "domains": ["office.example"], "rate_per_minute": 9},
        {"name": "two", "access": "denied", "users": ["bob"], "time_zone": "Asia/Tokyo", "enabled": False},
        {"name": "three", "access": "two_factor", "groups": ["family"], "expires_at": "2090-01-01T00:00:00Z"},
    ):
        assert admin.post("/access-rules", body).status_code == 201

    for query, expected in (
        ({"name": "two"}, ["two"]),
        ({"position": "2"}, ["two"]),
        ({"enabled": "false"}, ["two"]),
        ({"access": "denied"}, ["two"]),
        ({"domain": "OFFICE.example"}, ["one"]),
        ({"domain": "null"}, ["two", "three"]),
        ({"user": "BOB"}, ["two"]),
        ({"group": "family"}, ["three"]),
        ({"rate_per_minute": "9"}, ["one"]),
        ({"time_zone": "Asia/Tokyo"}, ["two"]),
        ({"expires_at_after": "2089-01-01T00:00:00Z"}, ["three"]),
    ):
        assert [row["name"] for row in admin.get("/access-rules", query).json()["results"]] == expected, query
