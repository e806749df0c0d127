"""``GET /access-logs``: pages of the gate's answers, newest first."""

from dataclasses import asdict

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.log import query as log_query
from tests.support.cast import NOW
from tests.support.logs import listed, numbers
from tests.support.records import a_record

pytestmark = pytest.mark.django_db


def test_an_answer_is_listed_with_every_field_of_the_contract(admin, log):
    record = a_record(1, at=NOW + 0.25)
    log(record)

    page = listed(admin)

    assert (page["count"], page["next"], page["previous"]) == (None, None, None)
    kept = {name: value for name, value in asdict(record).items() if name != "made_by_page"}
    assert page["results"] == [kept | {"at": "2026-03-14T09:26:53.250000Z", "node": "node-1", "grant": None}]


def test_missing_values_are_null(admin, log):
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


def test_the_count_is_null_above_the_counting_budget(admin, log, monkeypatch):
    log(*(a_record(n, at=NOW + n) for n in range(5)))

    assert listed(admin, count="true", path="/w*")["count"] == 5
    assert listed(admin, count="true", rule_id=7)["count"] == 5
    monkeypatch.setattr(log_query.number_of, "__kwdefaults__", {"budget": 4})
    assert listed(admin, count="true", path="/w*")["count"] is None
    assert listed(admin, count="true", rule_id=7)["count"] is None


def test_a_row_added_between_two_pages_shifts_no_row(admin, log):
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


def test_a_row_appears_within_a_second_of_its_answer(admin, visits):
    decision_id = visits(x_forwarded_uri="/first?token=secret&a=1")

    (row,) = listed(admin, path="/first")["results"]

    assert (row["decision_id"], row["reason"], row["query"]) == (decision_id, "credential-missing", "token=***&a=1")
