"""Suggested access rules: derived from the log; once applied, they let the program in."""

import pytest

from audit.spool.records import PATH as PATH_FIELD
from gatewall.whatif import rule_suggestions
from policies import services
from policies.access_rules.services import create_access_rule
from tests.support.cast import NOW
from tests.support.records import a_record

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]
PATH = "/access-rules/suggestions"
APP = "Jellyfin-Android/2.6"
PATHS = ["/System/Info", "/Items/0c1f5e1f0b7c4a9f8f0d7f6f5e4d3c2b", "/Sessions", "/Sessions"] * 3


@pytest.fixture
def refused(log, office):
    """Record refused requests of an app and of a scanner, and other requests that must not count."""
    at = NOW - 60

    def rows(paths, first, **parts):
        common = {
            "at": at,
            "host": "office.example",
            "reason": "credential-missing",
            "outcome": "challenge",
            "status": 401,
        }
        return [a_record(first + place, path=path, **{**common, **parts}) for place, path in enumerate(paths)]

    log(
        *rows(PATHS, 0, user_agent=APP),
        *rows(["/Sessions", "/System/Info"], 100, user_agent="curl/8"),
        *rows(["/denied"] * 20, 200, user_agent=APP, reason="access-denied", outcome="deny", status=403),
        *rows(["/elsewhere"] * 20, 300, user_agent=APP, host="other.example"),
        *rows(["/long-ago"] * 20, 400, user_agent=APP, at=at - 8 * 86_400),
    )


def ask(admin, **query):
    response = admin.get(PATH, {"domain": "office.example", **query})
    assert response.status_code == 200, response.content
    return response.json()


def test_a_program_gets_the_rules_that_would_have_let_it_in(admin, refused):
    answer = ask(admin)

    assert (answer["domain"], answer["requests"], answer["complete"]) == ("office.example", len(PATHS) + 2, True)
    [suggestion] = answer["suggestions"]
    assert suggestion["rules"] == [
        {
            "name": "Jellyfin-Android at office.example: GET",
            "domains": ["office.example"],
            "methods": ["GET"],
            "paths": [
                {"match": "glob", "value": "/Items/*"},
                {"match": "exact", "value": "/Sessions"},
                {"match": "exact", "value": "/System/Info"},
            ],
            "access": "public",
        }
    ]
    assert (suggestion["evidence"]["requests"], suggestion["missed"]) == (len(PATHS), 0)
    assert len(suggestion["evidence"]["decision_ids"]) == 5
    assert [(each["program"], each["requests"]) for each in suggestion["also_lets_in"]] == [("curl", 2)]


def test_a_suggestion_can_be_created_unchanged_and_writes_nothing_itself(admin, refused):
    [suggestion] = ask(admin)["suggestions"]
    assert admin.get("/access-rules").json()["count"] == 0

    for rule in suggestion["rules"]:
        assert admin.post("/access-rules", rule).status_code == 201

    for path in PATHS:
        request = {"client_ip": "203.0.113.7", "host": "office.example", "method": "GET", "uri": path}
        assert admin.post("/policy/explain", request).json()["decision"]["reason"] == "path-public"


def test_the_log_before_the_window_does_not_count(admin, refused):
    assert ask(admin, window=30 * 86_400)["requests"] == len(PATHS) + 2 + 20


def test_a_wildcard_covers_hosts_without_a_domain_of_their_own(admin, log):
    for name in ("*.home.example", "tv.home.example"):
        services.register_domain(actor="", name=name, access="authenticated")
    hosts = ["films.home.example", "tv.home.example", "home.example"]
    at = NOW - 5
    log(*(a_record(place, at=at, host=host, reason="credential-missing") for place, host in enumerate(hosts)))

    assert ask(admin, domain="*.home.example")["requests"] == 1
    assert ask(admin, domain="tv.home.example")["requests"] == 1


def from_app(paths, first=0, **parts):
    common = {"host": "office.example", "reason": "credential-missing", "user_agent": APP}
    return [
        a_record(first + place, path=path, **{"at": NOW - 5 - place, **common, **parts})
        for place, path in enumerate(paths)
    ]


def test_requests_above_the_row_limit_make_the_answer_incomplete(admin, office, log, monkeypatch):
    log(*from_app(PATHS), *from_app(["/old"], len(PATHS), at=NOW - 600))

    monkeypatch.setattr(rule_suggestions, "MAX_ROWS", len(PATHS) + 1)
    whole = ask(admin)
    monkeypatch.setattr(rule_suggestions, "MAX_ROWS", len(PATHS))
    newest = ask(admin)

    assert (whole["requests"], whole["complete"]) == (len(PATHS) + 1, True)
    assert (newest["requests"], newest["complete"]) == (len(PATHS), False)
    for answer, has_old in ((whole, True), (newest, False)):
        [rule] = answer["suggestions"][0]["rules"]
        assert ({"match": "exact", "value": "/old"} in rule["paths"]) is has_old


def test_a_path_that_the_log_has_cut_is_missed_and_opens_nothing(admin, office, log):
    whole, cut = "/" + "a" * (PATH_FIELD.length - 2), "/" + "b" * PATH_FIELD.length
    log(*from_app([*PATHS, whole, cut]))

    [suggestion] = ask(admin)["suggestions"]

    assert suggestion["missed"] == 1
    assert [path["value"][1] for rule in suggestion["rules"] for path in rule["paths"] if len(path["value"]) > 100] == [
        "a"
    ]


def test_no_two_suggested_rules_have_one_name(admin, log):
    host = f"{'long' * 15}.example"
    services.register_domain(actor="", name=host, access="authenticated")
    usual = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST"]
    log(
        *from_app(PATHS, host=host, method="GET"),
        *(
            row
            for at, method in enumerate(usual)
            for row in from_app(["/many", "/more"], 100 * at + 100, host=host, method=method)
        ),
        *from_app(["/more"], 900, host=host, method="PUT"),
    )

    [suggestion] = ask(admin, domain=host)["suggestions"]

    names = [rule["name"] for rule in suggestion["rules"]]
    assert len(names) == len(set(names)) == 3
    assert min(name[-4:] for name in names) == " (1)"
    for rule in suggestion["rules"]:
        assert admin.post("/access-rules", rule).status_code == 201


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"domain": "nowhere.example"}, "domain"),
        ({"domain": ""}, "domain"),
        ({"window": "59"}, "window"),
        ({"window": "week"}, "window"),
        ({"window": str(31 * 86_400)}, "window"),
        ({"other": "1"}, "other"),
    ],
)
def test_invalid_parameters_are_refused_by_name(admin, office, query, field):
    response = admin.get(PATH, {"domain": "office.example", **query})
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == [field]


def test_paths_opened_since_are_suggested_until_the_window_ends(admin, refused):
    create_access_rule(actor="x", name="open", access="public", paths=[{"match": "exact", "value": "/Sessions"}])
    assert ask(admin)["suggestions"][0]["evidence"]["requests"] == len(PATHS)
