"""Who can enter a path: users, groups and networks, decided by the engine."""

import pytest

from policies import services
from policies.access_rules.services import create_access_rule
from policies.groups.services import create_group
from tests.api.resources import fields_refused
from tests.support.proxies import a_user

pytestmark = pytest.mark.django_db
PATH = "/policy/who-can-enter"


@pytest.fixture
def policy(alice, bob, office):
    """Let Bob and the group family in; deny /admin to family, open /hook, and require a passkey for /safe."""
    family = create_group(actor="x", name="family", authorized_domains=[office])
    create_group(actor="x", name="guests")
    a_user("zoe", all_domains=False, groups=[family])
    a_user("yan", all_domains=False)
    a_user("gone", is_active=False)
    services.allow_network(actor="x", network="203.0.113.0/24", domain=office)
    for name, access, path, more in (
        ("no family", "denied", "/admin", {"groups": [family]}),
        ("office only", "denied", "/lan", {"networks": ["198.51.100.0/24"]}),
        ("hook", "public", "/hook", {}),
        ("safe", "phishing_resistant", "/safe", {}),
    ):
        paths = [{"match": "prefix", "value": path}]
        create_access_rule(actor="x", name=name, access=access, paths=paths, **more)


def ask(admin, path="/", **more):
    response = admin.get(PATH, {"host": "office.example", "path": path, **more})
    assert response.status_code == 200, response.content
    return response.json()


def verdicts(entries):
    return {
        each["name"]: (each["outcome"], each["reason"], each["access"], each["rule"] and each["rule"]["name"])
        for each in entries
    }


def test_without_a_rule_the_domain_and_scopes_decide(admin, policy):
    answer = ask(admin)

    assert answer["domain"] == "office.example"
    assert answer["everybody"]["outcome"] == "challenge"
    valid, out = ("allow", "session-valid"), ("deny", "host-not-in-scope")
    assert verdicts(answer["people"]) == {
        "alice": (*valid, "authenticated", None),
        "Bob": (*valid, "authenticated", None),
        "yan": (*out, "authenticated", None),
        "zoe": (*valid, "authenticated", None),
    }
    assert verdicts(answer["groups"]) == {
        "family": (*valid, "authenticated", None),
        "guests": (*out, "authenticated", None),
    }
    networks = {each["name"]: each["outcome"] for each in answer["networks"]}
    assert networks == {"203.0.113.0/24": "allow", "198.51.100.0/24": "challenge"}
    assert answer["left_out"] == 0


def test_the_answer_names_rules_with_the_access_they_require(admin, policy):
    people = verdicts(ask(admin, "/admin/users")["people"])
    assert people["zoe"] == ("deny", "access-denied", "denied", "no family")
    assert people["Bob"] == ("allow", "session-valid", "authenticated", None)
    assert verdicts(ask(admin, "/safe")["people"])["Bob"] == ("allow", "session-valid", "phishing_resistant", "safe")
    hook = ask(admin, "/hook", method="POST")["everybody"]
    assert (hook["outcome"], hook["reason"], hook["rule"]["name"]) == ("allow", "path-public", "hook")
    lan = {each["name"]: each["reason"] for each in ask(admin, "/lan")["networks"]}
    assert lan == {"203.0.113.0/24": "client-allowed", "198.51.100.0/24": "access-denied"}


def test_the_number_of_listed_people_is_limited(admin, policy, monkeypatch):
    monkeypatch.setattr("gatewall.replay.entrants.MAX_LISTED", 2)
    answer = ask(admin)

    assert [each["name"] for each in answer["people"]] == ["alice", "Bob"]
    assert answer["left_out"] == 2


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({}, "host"),
        ({"host": "office.example", "colour": "red"}, "colour"),
        ({"host": "not a host"}, "host"),
        ({"host": "office.example", "method": "get"}, "host"),
        ({"host": "office.example", "path": "/" + "a" * 9000}, "path"),
    ],
)
def test_invalid_parameters_are_refused_by_name(admin, parameters, field):
    assert fields_refused(admin.get(PATH, parameters)) == {field}
