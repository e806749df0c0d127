"""``/access-logs``: lists, filters and exports of what the gate answered, and one answer with its trace."""

import csv
import io
import json
from datetime import UTC, datetime

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit import ingest, log_query
from audit.log_filters import FILTERS, PARAMETERS
from audit.models import AccessLog
from audit.spool import SpoolWriter
from gatewall import system_settings
from gatewall.engine.evaluate import STEPS
from policies import services
from tests.cast import CLIENT, NOW, OFFICE
from tests.records import a_record
from tests.wall import a_token

pytestmark = pytest.mark.django_db
HOUR_AGO = datetime.fromtimestamp(NOW - 3600, UTC).isoformat().replace("+00:00", "Z")


@pytest.fixture
def log(tmp_path):
    """Return a function that brings records to the database by way of a spool."""

    def write(*records):
        writer = SpoolWriter(tmp_path / "log", "node-1")
        for record in records:
            writer.write(record)
        writer.close()
        ingest.ship(tmp_path / "log")

    return write


@pytest.fixture
def visits(auth, settings):
    """Return a function that asks the gate and returns the decision id; the answers are in the log then."""

    def visit(**headers):
        answer = auth(**headers)
        ingest.ship(settings.GATEWALL_HOME / "spool")
        return answer.headers["X-Gatewall-Decision-Id"]

    return visit


def listed(client, **parameters):
    response = client.get("/access-logs", parameters)
    assert response.status_code == 200, response.json()
    return response.json()


def numbers(page):
    return [int(row["decision_id"][-4:]) for row in page["results"]]


# Lists.


def test_an_answer_is_listed_with_every_field_of_the_contract(admin, log):
    log(a_record(1, at=NOW + 0.25))

    page = listed(admin)

    assert (page["count"], page["next"], page["previous"]) == (None, None, None)
    assert page["results"] == [
        {
            "decision_id": "019cebab-8748-7000-8000-000000000001",
            "at": "2026-03-14T09:26:53.250000Z",
            "client_ip": CLIENT,
            "country_code": "NZ",
            "method": "GET",
            "scheme": "https",
            "host": OFFICE,
            "path": "/wiki",
            "query": "page=1",
            "user_agent": "curl/8",
            "status": 403,
            "outcome": "deny",
            "reason": "waf-rule",
            "decided_by": {"kind": "waf-rule", "id": 7},
            "rules": [{"id": 7, "name": "attack", "action": "block"}],
            "credential": {"kind": "session-cookie", "amr": ["pwd"], "state": "valid"},
            "visible": ["for", "host"],
            "subject": {"kind": "user", "id": 2, "name": "Bob"},
            "latency_us": 42,
            "policy_revision": 5,
            "node": "node-1",
        }
    ]


def test_what_an_answer_does_not_have_is_null(admin, log):
    log(a_record(1, country_code=None, host=None, decided_by=None, credential=None, subject=None, rules=[]))

    (row,) = listed(admin)["results"]

    assert [row[name] for name in ("country_code", "host", "decided_by", "credential", "subject")] == [None] * 5


def test_pages_follow_their_links_newest_first(admin, log):
    log(*(a_record(n, at=NOW + n) for n in range(7)))

    found, page = [], listed(admin, page_size=3)
    while True:
        found.append(numbers(page))
        if page["next"] is None:
            break
        page = admin.get(page["next"].partition("/wall")[2]).json()

    assert found == [[6, 5, 4], [3, 2, 1], [0]]


def test_a_link_keeps_the_filters(admin, log):
    log(*(a_record(n, at=NOW + n, status=200 if n % 2 else 403) for n in range(7)))

    page = listed(admin, page_size=1, status=200, count="true")
    following = admin.get(page["next"].partition("/wall")[2]).json()

    assert (numbers(page), numbers(following), following["count"]) == ([5], [3], 3)


def test_an_empty_page_has_a_link_where_there_may_be_more(admin, log, monkeypatch):
    monkeypatch.setattr(log_query.page_of, "__kwdefaults__", {"budget": 2})
    log(*(a_record(n, at=NOW + n, path="/rare" if n == 0 else "/often") for n in range(5)))

    page, pages = listed(admin, path="/rare"), 1
    while page["next"]:
        assert numbers(page) == []
        page, pages = admin.get(page["next"].partition("/wall")[2]).json(), pages + 1

    assert (numbers(page), pages) == ([0], 3)


def test_the_number_of_rows_is_told_unless_there_are_too_many_to_count(admin, log, monkeypatch):
    log(*(a_record(n, at=NOW + n) for n in range(5)))

    assert listed(admin, count="true", path="/w*")["count"] == 5
    assert listed(admin, count="true", rule_id=7)["count"] == 5
    monkeypatch.setattr(log_query.number_of, "__kwdefaults__", {"budget": 4})
    assert listed(admin, count="true", path="/w*")["count"] is None
    assert listed(admin, count="true", rule_id=7)["count"] is None


def test_a_row_that_comes_while_pages_are_read_moves_none(admin, log):
    log(*(a_record(n, at=NOW + n) for n in range(4)))
    page = listed(admin, page_size=2)

    log(a_record(9, at=NOW + 9))

    assert numbers(admin.get(page["next"].partition("/wall")[2]).json()) == [1, 0]


def test_a_page_costs_the_same_number_of_queries_however_many_rows_it_has(admin, log):
    log(*(a_record(n, at=NOW + n) for n in range(20)))
    listed(admin)

    counts = []
    for size in (1, 20):
        with CaptureQueriesContext(connection) as queries:
            listed(admin, page_size=size, status=403, client_ip="198.51.100.0/24")
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_a_row_is_there_within_a_second_of_its_answer(admin, visits):
    decision_id = visits(x_forwarded_uri="/first?token=secret&a=1")

    (row,) = listed(admin, path="/first")["results"]

    assert (row["decision_id"], row["reason"], row["query"]) == (decision_id, "credential-missing", "token=***&a=1")


# Bad input.


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


@pytest.mark.parametrize("name", WRONG)
def test_a_parameter_that_means_nothing_is_refused_by_its_name(admin, name):
    for value in WRONG[name]:
        for parameter in (name, *({f"exclude_{name}"} & set(PARAMETERS))):
            response = admin.get("/access-logs", {parameter: value})

            assert response.status_code == 400, value
            assert [error["field"] for error in response.json()["errors"]] == [parameter]


TWICE = ["path=a&path=b", "reason=waf-rule&reason=waf-rule", "cursor=x&cursor=y", "path=%00", "path=%ff"]


@pytest.mark.parametrize("query", TWICE)
def test_a_parameter_that_is_there_twice_or_is_no_text_is_refused(admin, query):
    response = admin.get(f"/access-logs?{query}")

    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == query.partition("=")[0]


def test_a_range_without_a_moment_in_it_is_refused(admin):
    response = admin.get("/access-logs", {"start_time": HOUR_AGO, "end_time": HOUR_AGO})

    assert response.json()["errors"][0]["field"] == "end_time"


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_no_text_breaks_a_filter(admin, log, name):
    log(a_record(1))

    for value in ("%", "_", "\\", "a%'--", "\U0001f600", "*" * 2048, "{0}", "%s", "[a-z]", "!%"):
        for parameter in {name, f"exclude_{name}"} & set(PARAMETERS):
            response = admin.get("/access-logs", {parameter: value})
            assert response.status_code in {200, 400}, response.json()


def test_every_filter_with_an_exclusion_parts_the_rows_in_two(admin, log):
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
    }
    log(
        a_record(1, decided_by={"kind": "waf-rules", "id": 7}),
        a_record(2, **nothing, rules=[], visible=[], query="", user_agent=""),
        a_record(3, **other),
    )
    values = {
        "decision_id": "019cebab-8748-7000-8000-000000000001",
        "client_ip": CLIENT,
        "country_code": "nz",
        "method": "GET",
        "scheme": "https",
        "host": OFFICE,
        "path": "/wiki",
        "query": "page=1",
        "user_agent": "curl/8",
        "status": "403",
        "outcome": "deny",
        "reason": "waf-rule",
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
        "latency_us": "42",
        "policy_revision": "5",
        "node": "node-1",
    }
    assert {name for name, each in FILTERS.items() if each.excludes} == set(values)

    for name, value in values.items():
        chosen, others = numbers(listed(admin, **{name: value})), numbers(listed(admin, **{f"exclude_{name}": value}))
        assert sorted(chosen + others) == [1, 2, 3], name
        assert (1 in chosen, 3 in others) == (True, name != "node"), name
        if FILTERS[name].empty is not None and name != "node":
            assert numbers(listed(admin, **{name: ""})) == [2], name
            assert sorted(numbers(listed(admin, **{f"exclude_{name}": ""}))) == [1, 3], name


# Exports.


def export(admin, kind, **parameters):
    response = admin._client.get("/wall/access-logs", {"format": kind, **parameters})
    assert response.status_code == 200
    return response


def test_an_ndjson_export_has_the_rows_of_the_list(admin, log):
    log(*(a_record(n, at=NOW + n, path=f"/{n}\u00e9") for n in range(5)))

    response = export(admin, "ndjson", exclude_path="/3*")
    lines = [json.loads(line) for line in response.getvalue().splitlines()]

    assert lines == listed(admin, exclude_path="/3*")["results"]
    assert response.headers["Content-Type"] == "application/x-ndjson"
    assert response.headers["Content-Disposition"] == 'attachment; filename="access-log.ndjson"'


def test_a_csv_export_has_the_rows_of_the_list(admin, log):
    log(a_record(1, path='/"a",b', user_agent="two\nlines"), a_record(2, at=NOW - 1, host=None, subject=None))

    text = export(admin, "csv").getvalue().decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))

    assert [row["path"] for row in rows] == ['/"a",b', "/wiki"]
    assert json.loads(rows[0]["rules"]) == [{"id": 7, "name": "attack", "action": "block"}]
    assert (rows[1]["host"], rows[1]["subject"], rows[1]["latency_us"]) == ("", "", "42")
    assert text.count("\r\n") == 3


def test_a_csv_of_no_rows_has_its_columns(admin):
    assert export(admin, "csv").getvalue().startswith(b"decision_id,at,client_ip")


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "\uff1d1", "=cmd|' /C calc'!A0"]
)
def test_no_cell_of_a_csv_is_a_formula(admin, log, text):
    log(a_record(1, user_agent=text))

    (row,) = csv.DictReader(io.StringIO(export(admin, "csv").getvalue().decode(), newline=""))

    assert row["user_agent"] == f"'{text}"


def test_an_export_is_read_as_it_is_sent(admin, log, monkeypatch):
    monkeypatch.setattr(log_query, "_EXPORT_PAGE", 2)
    log(*(a_record(n, at=NOW + n) for n in range(7)))

    response = admin._client.get("/wall/access-logs", {"format": "ndjson"})
    with CaptureQueriesContext(connection) as queries:
        parts = iter(response.streaming_content)
        first = next(parts)
        asked_for_one = len(queries)
        rest = list(parts)

    assert json.loads(first)["decision_id"].endswith("6")
    assert (asked_for_one, len(queries), len(rest)) == (1, 4, 6)
    assert all("LIMIT 3" in query["sql"] for query in queries.captured_queries)


def test_nothing_is_asked_of_the_database_for_a_caller_who_went_away(admin, log, monkeypatch):
    monkeypatch.setattr(log_query, "_EXPORT_PAGE", 1)
    log(*(a_record(n, at=NOW + n) for n in range(5)))
    response = admin._client.get("/wall/access-logs", {"format": "csv"})
    parts = iter(response.streaming_content)
    next(parts)

    with CaptureQueriesContext(connection) as queries:
        response.close()

    assert len(queries) == 0


def test_an_export_holds_no_transaction_and_no_cursor_open(admin, log, monkeypatch):
    monkeypatch.setattr(log_query, "_EXPORT_PAGE", 1)
    log(*(a_record(n, at=NOW + n) for n in range(3)))
    parts = iter(admin._client.get("/wall/access-logs", {"format": "ndjson"}).streaming_content)
    next(parts)

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_cursors")
            assert cursor.fetchone() == (0,)
    AccessLog.objects.filter(at__lt=datetime.fromtimestamp(NOW + 1.5, UTC)).delete()

    assert list(parts) == []


def test_a_head_of_an_export_reads_no_row(admin, log):
    log(a_record(1))

    with CaptureQueriesContext(connection) as queries:
        response = admin.send("HEAD", "/access-logs?format=csv")

    assert (response.status_code, response.getvalue()) == (200, b"")
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert not any("audit_accesslog" in query["sql"] for query in queries.captured_queries)


@pytest.mark.parametrize("accept", ["text/csv", "application/x-ndjson", "text/html", "*/*"])
def test_an_export_is_what_its_format_says_whatever_is_accepted(admin, accept):
    response = admin.get("/access-logs", {"format": "csv"}, headers={"Accept": accept})

    assert response.headers["Content-Type"].startswith("text/csv")
    assert admin.get("/access-logs", {"format": "xml"}, headers={"Accept": "text/csv"}).status_code in {400, 406}


def test_nothing_between_gunicorn_and_the_view_gathers_an_export():
    gathers = ("gzip", "ConditionalGet", "UpdateCache", "FetchFromCache")

    assert not [name for name in django_settings.MIDDLEWARE if any(part.lower() in name.lower() for part in gathers)]


def test_an_export_begins_behind_a_cursor(admin, log):
    log(*(a_record(n, at=NOW + n) for n in range(4)))
    cursor = listed(admin, page_size=2)["next"].partition("cursor=")[2].partition("&")[0]

    lines = export(admin, "ndjson", cursor=cursor).getvalue().splitlines()

    assert [json.loads(line)["decision_id"][-1] for line in lines] == ["1", "0"]


# One answer.


def entry(admin, decision_id, **parameters):
    response = admin.get(f"/access-logs/{decision_id}", parameters)
    assert response.status_code == 200, response.json()
    return response.json()


def steps_of(trace):
    return [step["step"] for step in trace]


def a_rule_row(name, pattern, target, **values):
    return services.create_waf_rule(actor="", name=name, pattern=pattern, targets=[target], **values)


NAMES = [step.__name__.replace("_", "-") for step in STEPS]


def test_an_answer_shows_the_steps_that_led_to_it(admin, visits):
    blocked = services.block_network(actor="", network="203.0.113.0/24")
    decision_id = visits(x_forwarded_for="203.0.113.9")

    shown = entry(admin, decision_id)

    assert "again" not in shown
    assert shown["decided_by"] == {"kind": "ip-black-list", "id": blocked.pk}
    assert steps_of(shown["trace"]) == NAMES
    first, second, *later = shown["trace"]
    assert (first["reached"], first["outcome"], first["decided"]) == (True, "not matched", False)
    path = f"/wall/ip-black-list/{blocked.pk}"
    assert second == {
        "step": "client-is-blocked",
        "reached": True,
        "decided": True,
        "outcome": "deny",
        "reason": "client-blocked",
        "decided_by": {"kind": "ip-black-list", "id": blocked.pk, "path": path},
        "rules": [],
    }
    assert all((step["reached"], step["outcome"]) == (False, None) for step in later)
    assert admin.get(path.removeprefix("/wall")).status_code == 200


def test_rules_stand_at_their_step(admin, visits):
    rule = a_rule_row("watch", "attack", "query", action="monitor")
    decision_id = visits(x_forwarded_uri="/?q=attack")

    (step,) = (step for step in entry(admin, decision_id)["trace"] if step["rules"])

    assert (step["step"], step["decided"], step["outcome"]) == ("waf-rules-match", False, "not matched")
    assert step["rules"] == [{"id": rule.pk, "name": "watch", "action": "monitor"}]


@pytest.mark.parametrize(("inspect", "step"), [(False, "client-is-allowed"), (True, "inspected-client-is-allowed")])
def test_an_allowed_client_was_allowed_at_the_step_of_its_entry(admin, visits, inspect, step):
    services.allow_network(actor="", network=CLIENT, inspect=inspect)

    shown = entry(admin, visits(), again="true")

    assert [each["step"] for each in shown["trace"] if each["decided"]] == [step]
    assert [each["step"] for each in shown["again"]["trace"] if each["decided"]] == [step]


def test_where_the_gate_could_not_decide_no_step_was_reached(admin, log):
    log(a_record(1, reason="cannot-decide", outcome="error", status=503, decided_by=None, rules=[]))

    shown = entry(admin, "019cebab-8748-7000-8000-000000000001", again="true")

    assert not any(step["reached"] for step in shown["trace"])
    assert (shown["again"]["decision"], shown["again"]["undecidable"]) == (None, "request")


def test_decided_again_under_the_same_policy_the_answer_is_the_same(admin, visits, bob):
    for headers in ({}, {"service_authorization": a_token(bob)}, {"x_forwarded_host": "a b"}, {"service_license": "x"}):
        again = entry(admin, visits(**headers), again="true")["again"]

        assert (again["same"], again["undecidable"]) == (True, None), headers
        assert steps_of(again["trace"]) == NAMES


def test_decided_again_after_a_change_the_answer_is_that_of_today(admin, visits, bob):
    decision_id = visits(service_authorization=a_token(bob))
    blocked = services.block_network(actor="", network=CLIENT)

    again = entry(admin, decision_id, again="true")["again"]

    assert again["decision"] == {
        "status": 403,
        "outcome": "deny",
        "reason": "client-blocked",
        "decided_by": {"kind": "ip-black-list", "id": blocked.pk, "path": f"/wall/ip-black-list/{blocked.pk}"},
    }
    assert (again["same"], again["assumed"]) == (False, [])


def test_a_subject_that_cannot_sign_in_any_more_is_proven_no_more(admin, visits, bob):
    decision_id = visits(service_authorization=a_token(bob))
    assert entry(admin, decision_id, again="true")["again"]["assumed"] == ["credential"]

    admin.put(f"/users/{bob.pk}", {"is_active": False})

    again = entry(admin, decision_id, again="true")["again"]
    assert (again["decision"]["reason"], again["assumed"]) == ("credential-invalid", ["credential"])


def test_what_the_log_does_not_have_is_said(admin, visits, bob):
    entry_row = services.block_network(actor="", network=CLIENT)
    decision_id = visits(service_authorization=a_token(bob))
    services.unblock_network(entry_row, actor="")

    again = entry(admin, decision_id, again="true")["again"]

    assert (again["decision"], again["same"], again["undecidable"]) == (None, None, "credential")
    assert {step["step"]: step["undecidable"] for step in again["trace"]}["subject-is-valid"] == "credential"


def test_a_builtin_rule_that_has_not_changed_matches_what_it_matched(admin, visits):
    decision_id = visits(x_forwarded_uri="/?q=1", cookie="a=b")
    a_rule_row("new", "nothing", "path")

    again = entry(admin, decision_id, again="true")["again"]

    assert (again["same"], again["undecidable"]) == (True, None)


def test_a_new_rule_that_looks_at_cookies_makes_it_undecidable(admin, visits):
    decision_id = visits(cookie="a=b")
    a_rule_row("new", "nothing", "cookies")

    assert entry(admin, decision_id, again="true")["again"]["undecidable"] == "waf-rules"


def test_a_request_rate_of_today_says_nothing_of_yesterday(admin, visits):
    decision_id = visits()
    system_settings.change(actor="", request_rate_per_minute=10)

    assert entry(admin, decision_id, again="true")["again"]["undecidable"] == "request-rate"


def test_to_decide_again_leaves_nothing_behind(admin, visits, settings):
    decision_id = visits()
    before = AccessLog.objects.count()

    entry(admin, decision_id, again="true")
    ingest.ship(settings.GATEWALL_HOME / "spool")

    assert AccessLog.objects.count() == before


@pytest.mark.parametrize(
    "decision_id",
    [
        "019cebab-8748-7000-8000-00000000ffff",
        "ffffffff-ffff-7fff-bfff-ffffffffffff",
        "00000000-0000-7000-8000-000000000000",
        "00000000-0000-4000-8000-000000000000",
        "1",
        "019CEBAB-8748-7000-8000-000000000001",
        "x",
    ],
)
def test_an_answer_that_is_not_there_is_404(admin, log, decision_id):
    log(a_record(1))

    assert admin.get(f"/access-logs/{decision_id}").status_code == 404


@pytest.mark.parametrize("query", ["again=yes", "again=", "again=true&again=true", "again=TRUE", "color=red"])
def test_a_parameter_of_an_answer_that_means_nothing_is_refused(admin, log, query):
    log(a_record(1))

    response = admin.get(f"/access-logs/019cebab-8748-7000-8000-000000000001?{query}")

    assert response.json()["errors"][0]["field"] == query.partition("=")[0]


def test_an_answer_has_a_tag(admin, log):
    log(a_record(1))
    path = "/access-logs/019cebab-8748-7000-8000-000000000001"

    tag = admin.get(path).headers["ETag"]

    assert admin.get(path, headers={"If-None-Match": tag}).status_code == 304


def test_the_history_of_too_many_changes_is_not_read(admin, visits, monkeypatch):
    from gatewall.operations import redecision  # noqa: PLC0415

    decision_id = visits(cookie="a=b")
    a_rule_row("new", "nothing", "path")
    monkeypatch.setattr(redecision, "MAX_REVISIONS", 0)

    assert entry(admin, decision_id, again="true")["again"]["undecidable"] in {None, "waf-rules"}
    assert not redecision.history_since(0, 1).row_is_as_of(0, "waf-rules", 1)
