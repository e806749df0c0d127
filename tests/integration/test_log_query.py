"""Pages and filters of the access log, with real rows."""

import random
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from audit.log import query
from audit.log.filters import filters_of
from audit.log.query import number_of, page_of
from audit.models import AccessLog
from audit.querying.field_filters import FilterRefused, Filters
from audit.querying.keyset import Cursor, CursorRefused, behind
from tests.support.cast import NOW
from tests.support.records import a_record
from tests.support.spool_shipping import shipped

pytestmark = pytest.mark.django_db
EVERYTHING = Filters()


@pytest.fixture
def log(tmp_path):
    def write(records):
        shipped(tmp_path / "spool", records)

    return write


def found(**parameters):
    chosen = filters_of(parameters.items(), start=None, end=None)
    return {int(str(row.decision_id)[-4:]) for row in page_of(chosen, None, 500).rows}


def walk(filters, size, **options):
    pages, after = [], None
    while True:
        page = page_of(filters, after, size, **options)
        pages.append(page.rows)
        if page.next is None:
            return pages
        after = Cursor.parse(str(page.next), uuid.UUID)


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_pages_together_are_every_row_once_newest_first(log, size):
    numbers = random.Random(size)  # noqa: S311 - examples, no secrets
    log([a_record(n, at=NOW + numbers.randrange(5)) for n in range(40)])

    rows = [row for page in walk(EVERYTHING, size) for row in page]

    assert rows == sorted(AccessLog.objects.all(), key=lambda row: (row.at, row.decision_id), reverse=True)


@pytest.mark.parametrize("name", ["host", "subject", "subject_id"])
def test_a_filter_without_a_budget_has_an_index_for_an_empty_value_too(name):
    chosen = filters_of([(name, "")], start=None, end=None)

    columns = {lookup.partition("__")[0] for lookup, _ in chosen.index.children}
    assert columns & {index.fields[0] for index in AccessLog._meta.indexes}


def test_a_page_looks_at_no_more_rows_than_its_budget(log):
    log([a_record(n, at=NOW + n, path="/rare" if n == 3 else "/often") for n in range(50)])

    pages = walk(filters_of([("path", "/rare")], start=None, end=None), 10, budget=10)

    assert [len(page) for page in pages] == [0, 0, 0, 0, 1]


CHOSEN = [
    ("client_ip", "203.0.113.1", {1}),
    ("client_ip", "203.0.113.0/30", {0, 1, 2, 3}),
    ("client_ip", "::ffff:203.0.113.2", {2}),
    ("exclude_client_ip", "203.0.113.0/29", {8, 9}),
    ("host", "h1.example", {1}),
    ("host", "h*.example", set(range(10))),
    ("host", "H1.Example.", {1}),
    ("host", "H*.Example", set(range(10))),
    ("path", "/p/*/5", {5}),
    ("path", "/p/?/5", set()),
    ("path", "*%", set()),
    ("exclude_path", "/p/*/5", set(range(10)) - {5}),
    ("status", "403", {0, 2, 4, 6, 8}),
    ("exclude_outcome", "deny", {1, 3, 5, 7, 9}),
    ("rule_id", "7", {0, 3, 6, 9}),
    ("exclude_rule_id", "7", {1, 2, 4, 5, 7, 8}),
    ("subject_id", "2", set(range(10))),
    ("subject_name", "Bob", set(range(10))),
    ("credential_kind", "session-cookie", set(range(10))),
    ("country_code", "nz", set(range(10))),
    ("decision_id", "019cebab-8748-7000-8000-000000000004", {4}),
]


def test_a_filter_selects_matching_rows(log):
    log(
        a_record(
            n,
            client_ip=f"203.0.113.{n}",
            host=f"h{n}.example",
            path=f"/p/[x]/{n}",
            status=200 if n % 2 else 403,
            outcome="allow" if n % 2 else "deny",
            rules=[{"id": 7, "name": "attack", "action": "block"}] if n % 3 == 0 else [],
        )
        for n in range(10)
    )

    for parameter, value, numbers in CHOSEN:
        assert found(**{parameter: value}) == numbers, (parameter, value)


@pytest.mark.parametrize("rest", [{}, {"path": "/p/*"}, {"exclude_status": "500"}])
def test_pages_of_a_rule_are_its_rows_newest_first(log, rest):
    rules = [{"id": 7, "name": "attack", "action": "block"}]
    log([a_record(n, at=NOW + n // 3, path="/p/x", rules=rules if n % 2 else []) for n in range(40)])
    filters = filters_of({"rule_id": "7", **rest}.items(), start=None, end=None)

    for size in (1, 4, 100):
        rows = [row for page in walk(filters, size) for row in page]
        assert [int(str(row.decision_id)[-4:]) for row in rows] == list(range(39, 0, -2)), size
    assert number_of(filters) == 20


def test_a_page_of_a_rule_looks_at_no_more_rows_than_its_budget(log):
    rules = [{"id": 7, "name": "attack", "action": "block"}]
    log([a_record(n, at=NOW + n, path="/rare" if n == 3 else "/often", rules=rules) for n in range(50)])

    pages = walk(filters_of([("rule_id", "7"), ("path", "/rare")], start=None, end=None), 10, budget=20)

    assert [len(page) for page in pages] == [0, 0, 1]


@pytest.mark.parametrize("few", [0, 100], ids=["many", "few"])
def test_a_network_finds_the_same_rows_whether_they_are_few_or_many(log, monkeypatch, few):
    monkeypatch.setattr(query, "FEW", few)
    log([a_record(n, at=NOW + n, client_ip=f"203.0.113.{n}") for n in range(20)])
    filters = filters_of([("client_ip", "203.0.113.8/29"), ("exclude_client_ip", "203.0.113.9")], start=None, end=None)

    rows = [row for page in walk(filters, 3) for row in page]

    assert [row.client_ip for row in rows] == [f"203.0.113.{n}" for n in range(15, 7, -1) if n != 9]


@pytest.mark.parametrize(
    "wanted", [{"client_ip": "198.51.100.7"}, {"host": "office.example"}, {"subject": "user:2"}, {}]
)
def test_a_page_begins_with_an_index_condition(log, wanted):
    """So that deep pages are fast: without an index condition, a query would scan all pages before it."""
    log([a_record(n, at=NOW + n) for n in range(3)])
    filters = filters_of(wanted.items(), start=None, end=None)
    first = page_of(filters, None, 1)
    rows = AccessLog.objects.filter(filters.moments & filters.index, behind(first.next))

    if connection.vendor == "sqlite":  # PostgreSQL chooses by the content of the table
        plan = rows.order_by("-at", "-decision_id")[:2].explain()
        assert "at<" in plan, plan


def test_a_time_range_has_its_start_and_not_its_end(log):
    log(a_record(n, at=NOW + n) for n in range(5))
    start = datetime.fromtimestamp(NOW, UTC)

    chosen = filters_of([], start=start + timedelta(seconds=1), end=start + timedelta(seconds=3))

    assert len(page_of(chosen, None, 10).rows) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "4e2"),
        ("status", "-1"),
        ("status", "9" * 19),
        ("client_ip", "10.0.0.1/8"),
        ("client_ip", "somewhere"),
        ("decision_id", "1"),
        ("path", "*a" * 9),
        ("color", "red"),
        ("exclude_color", "red"),
        ("path", ""),
        ("path", "\0"),
        ("path", "x" * 3000),
        ("exclude_exclude_path", "x"),
    ],
)
def test_an_invalid_filter_is_refused(name, value):
    with pytest.raises(FilterRefused) as refused:
        filters_of([(name, value)], start=None, end=None)

    assert refused.value.field == name


@pytest.mark.parametrize("text", ["", "x", "é", "W10", "WzEsMl0", "bnVsbA", "a" * 5000, "WyIyMDI2LTAxLTAxIiwiMCJd"])
def test_an_invalid_cursor_is_refused(text):
    with pytest.raises(CursorRefused):
        Cursor.parse(text, uuid.UUID)


@pytest.mark.parametrize(
    "wanted", [{"path": "/rare"}, {"client_ip": "203.0.113.0/25"}, {"rule_id": "7", "path": "/rare"}]
)
def test_a_quick_look_at_few_rows_changes_no_page(log, monkeypatch, wanted):
    log(
        a_record(n, at=NOW + n, path="/rare" if n % 9 == 0 else "/often", client_ip=f"203.0.113.{n * 4}")
        for n in range(60)
    )
    filters = filters_of(wanted.items(), start=None, end=None)
    whole = walk(filters, 3)
    monkeypatch.setattr(query, "QUICK_BUDGET", 4)
    monkeypatch.setattr(query, "_RULE_CHUNK", 5)

    assert walk(filters, 3) == whole
    assert sum(map(len, whole)) > 3
