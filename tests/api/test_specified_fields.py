"""Details that the specification leaves open: defaults, values and errors of every field of a resource."""

import re

import pytest

from tests.api.resources import KINDS
from tests.support.proxies import PASSWORD, ROOT

RECORD = {"created_by": "alice"}
NEVER_HIT = {"hits": 0, "last_hit_at": None}
FIELDS = {
    "/users": {
        **RECORD,
        "username": "person0",
        "email": "",
        "is_admin": False,
        "is_auditor": False,
        "is_active": True,
        "all_domains": True,
        "authorized_domains": [],
        "groups": [],
        "remark": "",
        "totp_enabled": False,
        "code_entry_locked": False,
        "last_login_at": None,
        "session_count": 0,
    },
    "/ip-black-list": {
        **RECORD,
        "ip": "203.0.113.0",
        "remark": "",
        "expires_at": None,
        "source": "manual",
        **NEVER_HIT,
    },
    "/ip-white-list": {
        **RECORD,
        "ip": "203.0.113.0",
        "domain": None,
        "inspect": False,
        "remark": "",
        "expires_at": None,
        **NEVER_HIT,
    },
    "/waf-rules": {
        **RECORD,
        "name": "rule 0",
        "pattern": "attack0",
        "operator": "regex",
        "targets": ["uri"],
        "transforms": [],
        "category": "custom",
        "severity": "medium",
        "score": 5,
        "action": "block",
        "priority": 100,
        "enabled": True,
        "domain": None,
        "path_prefix": None,
        "exclusions": [],
        "description": "",
        "builtin": False,
        **NEVER_HIT,
    },
    "/authorized-domains": {
        **RECORD,
        "name": "site0.example",
        "access": "authenticated",
        "remark": "",
        "waf_monitor_until": None,
        "identity_headers": ["Remote-User", "Remote-Email", "Remote-Groups"],
    },
    "/geo-block-rules": {**RECORD, "country_code": "NZ", "country_name": "New Zealand", "remark": "", "hits": 0},
    "/groups": {
        **RECORD,
        "name": "group0",
        "description": "",
        "all_domains": False,
        "authorized_domains": [],
        "member_count": 0,
    },
    "/licenses": {
        **RECORD,
        "name": "machine 0",
        "expires_at": None,
        "is_active": True,
        "all_domains": True,
        "authorized_domains": [],
        "remark": "",
        "last_used_at": None,
        "uses": 0,
    },
}
NEW_EACH_TIME = {"id", "created_at", "prefix", "token", "warnings"}
CHOICES = {
    ("/authorized-domains", "access"): "authenticated two_factor public denied",
    ("/waf-rules", "operator"): "regex contains equals starts-with ends-with",
    ("/waf-rules", "category"): "sqli xss traversal rce injection ssrf scanner protocol custom",
    ("/waf-rules", "severity"): "low medium high critical",
    ("/waf-rules", "action"): "block monitor",
}
TARGETS = "uri path query args arg-names headers user-agent cookies referer method host body"
REQUIRED = {
    "/users": {"username", "password"},
    "/ip-black-list": {"ip"},
    "/ip-white-list": {"ip"},
    "/waf-rules": {"name", "pattern"},
    "/authorized-domains": {"name"},
    "/geo-block-rules": {"country_code"},
    "/groups": {"name"},
    "/licenses": {"name"},
    "/login": {"username", "password"},
    "/admin-login": {"username", "password"},
    "/login/2fa": {"challenge_token", "code"},
    "/admin-login/2fa": {"challenge_token", "code"},
    "/admin-recover-2fa": {"username", "password", "recovery_key"},
}


def kind(path):
    return next(each for each in KINDS if each.path == path)


def least(path):
    """Return the smallest body that creates a row."""
    return {name: value for name, value in kind(path).body(0).items() if name in REQUIRED[path]}


@pytest.mark.django_db
@pytest.mark.parametrize("path", FIELDS)
def test_a_minimal_body_gets_the_default_of_every_field(admin, path):
    made = admin.post(path, least(path))

    assert made.status_code == 201
    shown = made.json()
    assert {name: value for name, value in shown.items() if name not in NEW_EACH_TIME} == FIELDS[path]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", shown["created_at"])
    assert made.headers["Location"] == f"{ROOT}{path}/{shown['id']}"


@pytest.mark.django_db
@pytest.mark.parametrize("path", REQUIRED)
def test_each_required_field_is_asked_for_by_name(anonymous, admin, path):
    caller = admin if path in FIELDS else anonymous

    refused = caller.post(path, {}, headers={"Host": "localhost"})  # recovery requires a caller on this machine

    assert refused.status_code == 400
    assert {(error["field"], error["code"]) for error in refused.json()["errors"]} == {
        (name, "required") for name in REQUIRED[path]
    }


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "name"), CHOICES)
def test_a_choice_field_accepts_exactly_the_documented_values(admin, path, name):
    made = admin.post(path, least(path)).json()
    answers = {
        each: admin.put(f"{path}/{made['id']}", {name: each}).status_code
        for each in (*CHOICES[path, name].split(), "", "other")
    }

    assert {each for each, status in answers.items() if status == 200} == set(CHOICES[path, name].split())
    assert set(answers.values()) == {200, 400}


@pytest.mark.django_db
def test_a_waf_rule_accepts_exactly_the_documented_targets(admin):
    rule = least("/waf-rules")

    assert admin.post("/waf-rules", {**rule, "targets": TARGETS.split()}).status_code == 201
    assert admin.post("/waf-rules", {**rule, "name": "2", "targets": ["cookie"]}).status_code == 400
    assert admin.post("/waf-rules", {**rule, "name": "3", "targets": []}).status_code == 400


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/ip-black-list", {"ip": "198.51.100.1/24"}, 400, "invalid"),
        ("/ip-black-list", {"ip": "100.0.0.0/7"}, 409, "network-too-large"),
        ("/ip-black-list", {"ip": "2001::/18"}, 409, "network-too-large"),
        ("/ip-black-list", {"ip": "100.0.0.0/8"}, 201, ""),
        ("/ip-black-list", {"ip": "2001::/19"}, 201, ""),
        ("/ip-black-list", {"ip": "100.0.0.0/7", "force": True}, 201, ""),
        ("/ip-white-list", {"ip": "198.51.100.1", "domain": "nowhere.example"}, 400, "invalid"),
        ("/geo-block-rules", {"country_code": "xx"}, 400, "invalid"),
        ("/geo-block-rules", {"country_code": "nz"}, 201, ""),
        ("/waf-rules", {"name": "1", "pattern": "("}, 400, "invalid"),
        ("/waf-rules", {"name": "1", "pattern": "x" * 4097}, 400, "invalid"),
        ("/waf-rules", {"name": "1", "pattern": "x", "score": 0}, 400, "invalid"),
        ("/waf-rules", {"name": "1", "pattern": "x", "score": 11}, 400, "invalid"),
        ("/authorized-domains", {"name": "no host"}, 400, "invalid"),
        ("/authorized-domains", {"name": "LOCALHOST"}, 201, ""),
        ("/authorized-domains", {"name": "[::1]"}, 201, ""),
        ("/users", {"username": "ab", "password": PASSWORD}, 400, "invalid"),
        ("/users", {"username": "ALICE", "password": PASSWORD}, 409, "duplicate"),
        ("/users", {"username": "dora", "password": "short"}, 400, "invalid"),
        ("/users", {"username": "dora", "password": "x" * 129}, 400, "invalid"),
        ("/users", {"username": "dora", "password": "password1"}, 400, "invalid"),
    ],
)
def test_values_are_accepted_or_refused_as_the_contract_specifies(admin, path, body, status, code):
    answer = admin.post(path, body)

    assert (answer.status_code, answer.json().get("code", "")) == (status, code)


@pytest.mark.django_db
@pytest.mark.parametrize("path", FIELDS)
def test_a_second_deletion_is_not_found(admin, path):
    made = admin.post(path, least(path)).json()

    assert admin.delete(f"{path}/{made['id']}").status_code == 204
    gone = admin.delete(f"{path}/{made['id']}")
    assert (gone.status_code, gone.json()["code"]) == (404, "not-found")


@pytest.mark.django_db
@pytest.mark.parametrize("path", sorted(set(FIELDS) - {"/ip-black-list"}))
def test_creating_a_row_twice_is_a_duplicate(admin, path):
    admin.post(path, least(path))

    again = admin.post(path, least(path))

    assert (again.status_code, again.json()["code"]) == (409, "duplicate")
