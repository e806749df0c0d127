"""The filters of ``GET /access-logs``."""

from dataclasses import asdict
from datetime import UTC, datetime

import pytest

from audit.log.filters import FILTERS, PARAMETERS
from audit.spool.records import Kind
from audit.spool.rows import RECORDED
from gatewall.engine.auth_methods import AUTH_METHODS
from tests.support.cast import NOW
from tests.support.form import by_form
from tests.support.logs import listed, numbers
from tests.support.records import a_record

pytestmark = pytest.mark.django_db

HOUR_AGO = datetime.fromtimestamp(NOW - 3600, UTC).isoformat().replace("+00:00", "Z")

WRONG = {
    "status": ("4e2", "-1", "9" * 19, "99", "600", "", "\u0662\u0660\u0660", "200.0", " 200"),
    "client_ip": ("10.0.0.1/8", "somewhere", "", "1.2.3.4/33", "::1/129", "fe80::1%eth0", "*"),
    "decision_id": ("1", "", "x" * 36, "019cebab-8748-7000-8000-00000000000"),
    "country_code": ("NZL", "N", "1", "N*", "\u0130Z"),
    "method": ("get", "", "GET POST", "G" * 33),
    "scheme": ("ftp", "HTTPS", ""),
    "host": ("a b", "office.example:443", "http://office.example", "a/b", "-x"),
    "outcome": ("denied", "", "DENY"),
    "reason": ("because", "", "waf_rule"),
    "decided_by": ("ip-black-list", "ip-black-list:", "ip-black-list:x", "users:1", ":1"),
    "subject": ("bob", "user:", "user:-1", "admin:1"),
    "subject_kind": ("admin", "User"),
    "subject_id": ("x", str(2**63), "1.0"),
    "rule_id": ("x", str(2**63), "-1"),
    **dict.fromkeys(("credential_kind", "credential_state", "amr", "visible", "rule_action"), ("x", "\U0001f600")),
    **dict.fromkeys(("latency_us", "latency_us_min", "latency_us_max"), ("", "x", "-1", "1.5")),
    "policy_revision": ("", "x"),
    "waf_score": ("x", "-1", "32768"),
    "waf_score_min": ("", "x", "-1", "32768"),
    "would_refuse": ("", "yes", "1", "True"),
    **dict.fromkeys(("shadow", "shadow_effect", "shadow_reason"), ("x", "same", "DENY")),
    **dict.fromkeys(("path", "query", "user_agent", "subject_name", "node"), ("x" * 2049, "*a" * 9)),
    **dict.fromkeys(
        ("start_time", "end_time"),
        (
            *("", "yesterday", "2026-01-01", "2026-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "1773480413"),
            *("9999-12-31T23:59:59-14:00", "2026-13-01T00:00:00Z"),
        ),
    ),
    "cursor": ("", "x", "A" * 31, "A" * 33, "f" + "_" * 31, "\u00e9" * 32, "A" * 5000),
    "page_size": ("0", "501", "-1", "x", "", "1e2", "9" * 30),
    "count": ("", "yes", "TRUE", "1"),
    "format": ("", "xml", "CSV", "api"),
    **dict.fromkeys(("color", "exclude_color", "exclude_exclude_path", "exclude_latency_us_min", "search"), ("x",)),
    **dict.fromkeys(("ordering", "page", "all", "exclude_start_time"), ("at", "1", "true", HOUR_AGO)),
}


def test_an_invalid_parameter_is_refused_by_name(admin):
    for name, value in [(name, value) for name, values in WRONG.items() for value in values]:
        for parameter in (name, *({f"exclude_{name}"} & set(PARAMETERS))):
            response = admin.get("/access-logs", {parameter: value})

            assert response.status_code == 400, (parameter, value)
            assert [error["field"] for error in response.json()["errors"]] == [parameter]


TWICE = ["path=a&path=b", "reason=waf-rule&reason=waf-rule", "cursor=x&cursor=y", "path=%00", "path=%ff"]


def test_a_duplicate_or_undecodable_parameter_is_refused(admin):
    for query in TWICE:
        response = admin.get(f"/access-logs?{query}")

        assert response.status_code == 400, query
        assert response.json()["errors"][0]["field"] == query.partition("=")[0]


def test_an_empty_time_range_is_refused(admin):
    response = admin.get("/access-logs", {"start_time": HOUR_AGO, "end_time": HOUR_AGO})

    assert response.json()["errors"][0]["field"] == "end_time"


BREAKING = ("%", "_", "\\", "a%'--", "\U0001f600", "*" * 2048, "{0}", "%s", "[a-z]", "!%")


@pytest.mark.parametrize("every", [by_form(full=1, default=3)])
@pytest.mark.parametrize(("place", "name"), list(enumerate(sorted(FILTERS))))
def test_hostile_filter_values_cause_no_server_error(admin, log, place, name, every):
    """The default form tries a third of the texts for each filter, and other texts for the next filter."""
    log(a_record(1))

    for value in BREAKING[place % every :: every]:
        for parameter in {name, f"exclude_{name}"} & set(PARAMETERS):
            response = admin.get("/access-logs", {parameter: value})
            assert response.status_code in {200, 400}, response.json()


@pytest.mark.parametrize("method", AUTH_METHODS)
def test_rows_are_found_by_each_authentication_method(admin, log, method):
    with_it = {"kind": "session-cookie", "amr": [method], "state": "valid"}
    log(a_record(1, credential=with_it), a_record(2, credential={**with_it, "amr": []}))

    assert numbers(listed(admin, amr=method)) == [1]


def test_a_filter_and_its_exclusion_partition_the_rows(admin, log):
    nothing = dict.fromkeys(("country_code", "host", "decided_by", "credential", "subject"))
    other = {
        "client_ip": "2001:db8::1",
        "country_code": "DE",
        "method": "POST",
        "scheme": "http",
        "host": "a.example",
        "path": "/a",
        "query": "b",
        "user_agent": "c",
        "status": 200,
        "outcome": "allow",
        "reason": "license-valid",
        "decided_by": {"kind": "ip-white-list", "id": 1},
        "rules": [{"id": 8, "name": "z", "action": "monitor"}],
        "credential": {"kind": "license", "amr": [], "state": "not-valid"},
        "subject": {"kind": "license", "id": 3, "name": ""},
        "visible": ["uri"],
        "latency_us": 1,
        "policy_revision": 6,
        "waf_score": 3,
        "shadow": {"effect": "deny", "reason": "access-denied", "decided_by": None},
    }
    more = [each.name for each in RECORDED if each.kind is Kind.TEXT and not getattr(a_record(), each.name)]
    shadow = {"effect": "allow", "reason": "path-public", "decided_by": None}
    score = {"waf_score": 8, "would_refuse": True}
    one = a_record(1, decided_by={"kind": "waf-rules", "id": 7}, shadow=shadow, **score, **dict.fromkeys(more, "x"))
    log(
        one,
        a_record(2, **nothing, rules=[], visible=[], query="", user_agent=""),
        a_record(3, **other, **dict.fromkeys(more, "y")),
    )
    values = {name: str(value) for name, value in asdict(one).items() if isinstance(value, str | int)} | {
        "decided_by": "waf-rules:7",
        "decided_by_kind": "waf-rules",
        "decided_by_id": "7",
        "rule_id": "7",
        "rule_name": "attack",
        "rule_action": "block",
        "credential_kind": "session-cookie",
        "credential_state": "valid",
        "amr": "pwd",
        "visible": "host",
        "subject": "user:2",
        "subject_kind": "user",
        "subject_id": "2",
        "subject_name": "Bob",
        "shadow_effect": "allow",
        "shadow_reason": "path-public",
        "would_refuse": "true",
        "node": "node-1",
    }
    del values["made_by_page"]  # not a column: only detectors read it
    assert {name for name, each in FILTERS.items() if each.excludes} == {*values, "shadow"}

    for name, value in values.items():
        chosen, others = numbers(listed(admin, **{name: value})), numbers(listed(admin, **{f"exclude_{name}": value}))
        assert sorted(chosen + others) == [1, 2, 3], name
        assert (1 in chosen, 3 in others) == (True, name != "node"), name
        if FILTERS[name].empty is not None and name != "node":
            assert numbers(listed(admin, **{name: ""})) == [2], name
            assert sorted(numbers(listed(admin, **{f"exclude_{name}": ""}))) == [1, 3], name
    differing, others = ({"shadow": "differs"}, {"exclude_shadow": ""}), ({"shadow": ""}, {"exclude_shadow": "differs"})
    assert [sorted(numbers(listed(admin, **each))) for each in differing] == [[1, 3]] * 2
    assert [numbers(listed(admin, **each)) for each in others] == [[2]] * 2


GRANTS = {
    "grants": {"reason": "grant-valid", "decided_by": {"kind": "grants", "id": 7}},
    "share-links": {"reason": "share-link-valid", "subject": {"kind": "guest", "id": 7, "name": ""}},
    "users/device-passes": {"reason": "device-pass-valid", "subject": {"kind": "device", "id": 7, "name": ""}},
    "no grant": {"reason": "access-denied", "subject": {"kind": "guest", "id": 7, "name": ""}},
}


def test_the_log_names_and_filters_by_grant(admin, log):
    log(*(a_record(number, **values) for number, values in enumerate(GRANTS.values(), 1)))

    named = {row["reason"]: row["grant"] for row in listed(admin)["results"]}

    for number, (kind, values) in enumerate(GRANTS.items(), 1):
        is_grant = kind != "no grant"
        assert named[values["reason"]] == ({"kind": kind, "id": 7} if is_grant else None)
        if is_grant:
            assert numbers(listed(admin, grant=f"{kind}:7")) == [number]
            assert numbers(listed(admin, grant=f"{kind}:8")) == []


@pytest.mark.parametrize("value", ["7", "grants:", "guest:7", "", "grants:x"])
def test_a_grant_without_its_kind_is_refused(admin, value):
    assert admin.get("/access-logs", {"grant": value}).status_code == 400
