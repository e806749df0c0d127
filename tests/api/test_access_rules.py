"""Access rules over the API: their values, their order, and warnings about them."""

from datetime import datetime
from types import SimpleNamespace

import pytest

from gatewall.kernel.changes import MAX_CHANGES
from gatewall.models import PolicyRevision
from policies import policy_source
from policies.access_conditions import MAX_RULES
from policies.access_rules import services
from policies.groups.members import MAX_GROUPS_OF_A_USER
from policies.models import AccessRule, Group
from tests.api.resources import fields_refused
from tests.api.rule_order import the_order
from tests.support.proxies import code_of

pytestmark = pytest.mark.django_db

WHOLE = {
    "name": "api of the family",
    "enabled": True,
    "access": "two_factor",
    "domains": ["office.example"],
    "paths": [{"match": "prefix", "value": "/api"}, {"match": "glob", "value": "/files/*/raw/**"}],
    "methods": ["GET", "PROPFIND"],
    "networks": ["192.0.2.0/24", "2001:db8::/32"],
    "countries": ["DE"],
    "asns": [64500],
    "weekdays": ["mon", "sun"],
    "from": "22:00",
    "until": "06:30",
    "time_zone": "Europe/Berlin",
    "groups": [],
    "users": ["Bob"],
    "credential_kinds": ["session"],
    "rate_per_minute": 60,
    "expires_at": "2090-01-01T00:00:00Z",
    "remark": "why",
}


def test_a_rule_has_what_was_sent(admin, bob, office):
    created = admin.post("/access-rules", WHOLE)
    body = created.json()

    assert {name: body[name] for name in WHOLE} == WHOLE
    assert (body["position"], body["hits"], body["last_hit_at"]) == (1, 0, None)
    same = admin.put(f"/access-rules/{body['id']}", body)
    assert same.status_code == 200
    assert {name: same.json()[name] for name in WHOLE} == WHOLE


def test_a_rule_has_its_defaults(admin):
    body = admin.post("/access-rules", {"name": "all", "access": "authenticated"}).json()

    empty = ("domains", "paths", "methods", "networks", "countries", "asns", "weekdays", "groups", "users")
    assert [body[name] for name in empty] == [[]] * len(empty)
    assert (body["from"], body["until"], body["time_zone"], body["enabled"]) == (None, None, "UTC", True)
    assert (body["rate_per_minute"], body["expires_at"], body["remark"]) == (0, None, "")


def test_a_rule_reaches_the_engine_unchanged(admin, bob, office):
    admin.post("/access-rules", WHOLE)
    admin.post("/access-rules", {"name": "off", "access": "denied", "enabled": False})
    [rule] = policy_source.access_rules()

    assert (rule.name, rule.access, rule.domains) == (WHOLE["name"], "two_factor", {"office.example"})
    assert [(path.match, path.value) for path in rule.paths] == [("prefix", "/api"), ("glob", "/files/*/raw/**")]
    assert (rule.weekdays, rule.start_minute, rule.end_minute) == ({1, 7}, 1320, 390)
    assert (rule.users, rule.groups, rule.credential_kinds) == ({bob.pk}, frozenset(), {"session"})
    assert rule.expires_at == datetime.fromisoformat("2090-01-01T00:00:00Z").timestamp()


def test_values_are_stored_once_in_their_canonical_spelling(admin, bob):
    values = {
        "methods": ["get", "GET"],
        "networks": ["192.0.2.7/32", "::ffff:192.0.2.7"],
        "countries": ["de", "DE"],
        "asns": [1, 1],
        "users": ["BOB", "bob"],
    }
    body = admin.post("/access-rules", {"name": "one", "access": "two_factor", **values}).json()

    assert [body[name] for name in values] == [["GET"], ["192.0.2.7"], ["DE"], [1], ["Bob"]]


def test_every_invalid_field_is_reported_at_once(admin):
    wrong = {
        "name": "",
        "access": "open",
        "position": 0,
        "domains": ["nowhere.example"],
        "paths": [{"match": "prefix", "value": "/a/../b"}, {"match": "regex", "value": "/a"}],
        "methods": ["G T"],
        "networks": ["192.0.2.1/24"],
        "countries": ["XX"],
        "asns": [0],
        "weekdays": ["monday"],
        "from": "25:00",
        "until": "6",
        "time_zone": "Mars/Olympus",
        "groups": ["nobody"],
        "users": ["nobody"],
        "credential_kinds": ["password"],
        "rate_per_minute": -1,
        "expires_at": "tomorrow",
    }
    refused = admin.post("/access-rules", wrong)

    assert {field.partition(".")[0] for field in fields_refused(refused)} == set(wrong)
    [path] = [each for each in refused.json()["errors"] if each["field"] == "paths.0.value"]
    assert (path["code"], "'/b'" in path["message"]) == ("not-canonical", True)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"access": "public", "users": ["bob"]}, "access"),
        ({"access": "public", "credential_kinds": ["session"]}, "access"),
        ({"from": "09:00", "until": "09:00"}, "until"),
        ({"position": 2}, "position"),
        ({"paths": [{"match": "exact", "value": "/a"}] * 101}, "paths"),
        ({"networks": ["192.0.2.1"] * 501}, "networks"),
        ({"colour": "red"}, "colour"),
        ({"paths": [{"value": "/a"}]}, "paths.0.match"),
        ({"paths": [{"match": "exact", "value": "/a", "case": False}]}, "paths.0.case"),
        ({"time_zone": "localtime"}, "time_zone"),
    ],
)
def test_contradictory_or_excessive_values_are_refused(admin, bob, values, field):
    assert fields_refused(admin.post("/access-rules", {"name": "x", "access": "two_factor", **values})) == {field}
    assert not AccessRule.objects.exists()


def test_every_unknown_user_is_named_by_its_place(admin, bob):
    refused = admin.post("/access-rules", {"name": "x", "access": "denied", "users": ["zoe", "bob", "yves"]})

    assert [(each["field"], each["code"], each["message"]) for each in refused.json()["errors"]] == [
        ("users.0", "unknown", "there is no user zoe"),
        ("users.2", "unknown", "there is no user yves"),
    ]


def test_a_path_must_be_complete_in_a_change_too(admin, rules):
    [id_] = rules("a")

    for path, field in (({"value": "/a"}, "paths.0.match"), ({"match": "exact"}, "paths.0.value")):
        assert fields_refused(admin.put(f"/access-rules/{id_}", {"paths": [path]})) == {field}


def test_a_change_is_validated_together_with_unchanged_fields(admin, bob, rules):
    [asks] = rules("asks", users=["bob"])
    [opens] = rules("opens", access="public", **{"from": "09:00"})

    assert fields_refused(admin.put(f"/access-rules/{asks}", {"access": "public"})) == {"access"}
    assert fields_refused(admin.put(f"/access-rules/{opens}", {"users": ["bob"]})) == {"access"}
    assert fields_refused(admin.put(f"/access-rules/{opens}", {"until": "09:00"})) == {"until"}
    assert admin.put(f"/access-rules/{asks}", {"access": "public", "users": []}).status_code == 200


def test_the_order_has_no_gaps(admin, rules):
    ids = dict(zip("abcd", rules(*"abcd"), strict=True))
    admin.post("/access-rules", {"name": "e", "access": "denied", "position": 2})
    assert the_order() == "aebcd"
    for name, position, order in (("a", 5, "ebcda"), ("d", 1, "debca"), ("c", 4, "debca"), ("b", 2, "dbeca")):
        assert admin.put(f"/access-rules/{ids[name]}", {"position": position}).json()["position"] == position
        assert the_order() == order
    assert fields_refused(admin.put(f"/access-rules/{ids['a']}", {"position": 6})) == {"position"}
    assert admin.delete(f"/access-rules/{ids['b']}").status_code == 204
    assert the_order() == "deca"
    assert [row["name"] for row in admin.get("/access-rules").json()["results"]] == list("deca")


def test_a_revision_records_changed_positions(admin, rules):
    ids = rules(*"abc")
    admin.put(f"/access-rules/{ids[2]}", {"position": 1})
    changes = {each["name"]: each for each in PolicyRevision.objects.latest("number").changes}

    assert {name: (each["before"], each["after"]) for name, each in changes.items()} == {
        "a": ({"position": 1}, {"position": 2}),
        "b": ({"position": 2}, {"position": 3}),
        "c": ({"position": 3}, {"position": 1}),
    }


def test_there_are_no_more_rules_than_a_revision_can_record(admin, rules, monkeypatch):
    assert MAX_RULES <= MAX_CHANGES
    monkeypatch.setattr(services, "MAX_RULES", 3)
    rules(*"ab")
    rules("c", position=1)

    assert code_of(admin.post("/access-rules", {"name": "x", "access": "denied"})) == (409, "too-many-access-rules")
    assert the_order() == "cab"


def test_names_are_unique(admin, rules):
    rules("a")

    assert code_of(admin.post("/access-rules", {"name": "a", "access": "denied"})) == (409, "duplicate")


def test_a_stale_change_is_refused(admin, rules):
    [id_] = rules("a")
    tag = admin.get(f"/access-rules/{id_}")["ETag"]
    rules("b", position=1)  # changes the position of rule a, and with it the ETag

    assert code_of(admin.put(f"/access-rules/{id_}", {"remark": "x"}, headers={"If-Match": tag})) == (412, "stale")


def test_a_rule_that_can_never_match_is_accepted_with_a_warning(admin, rules):
    wide = {"paths": [{"match": "prefix", "value": "/api"}]}
    rules("wide", **wide)
    narrow = {"name": "narrow", "access": "denied", "paths": [{"match": "exact", "value": "/api/x"}]}
    body = admin.post("/access-rules", narrow).json()

    assert "wide" in body["warnings"][0]
    moved = admin.put(f"/access-rules/{body['id']}", {"position": 1}).json()
    assert "warnings" not in moved
    again = admin.put(f"/access-rules/{body['id']}", {"paths": []}).json()
    assert "wide" in again["warnings"][0]  # it comes after the moved rule, which matches everything


def test_asns_are_warned_of_if_the_geo_database_has_none(admin, monkeypatch):
    rule = {"access": "denied", "asns": [64500]}
    without = admin.post("/access-rules", {**rule, "name": "a", "enabled": True}).json()
    monkeypatch.setattr("policies.geo._lookup", [lambda: SimpleNamespace(asn_of=lambda _address: 13335)])
    known = admin.put(f"/access-rules/{without['id']}", {"remark": "x"}).json()

    assert any("autonomous systems" in each for each in without["warnings"])
    assert "warnings" not in known


def test_rules_on_unknown_countries_or_every_host_are_warned_of(admin):
    countries = admin.post("/access-rules", {"name": "a", "access": "denied", "countries": ["DE"]}).json()
    everything = admin.post("/access-rules", {"name": "b", "access": "public", "position": 1}).json()

    assert any("GEOIP_DATABASE" in each for each in countries["warnings"])
    assert any("every host" in each for each in everything["warnings"])


def test_a_rule_may_name_more_groups_than_a_user_may_have(admin):
    names = [f"group-{number}" for number in range(MAX_GROUPS_OF_A_USER + 1)]
    Group.objects.bulk_create([Group(name=name) for name in names])

    response = admin.post("/access-rules", {"name": "many", "access": "authenticated", "groups": names})

    assert response.status_code == 201, response.content
    assert len(response.json()["groups"]) == len(names)
