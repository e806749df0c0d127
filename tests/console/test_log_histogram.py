"""The histogram above the log, and new rows that arrive while the page is open."""

import uuid
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest

from tests.console.conftest import NOON, ago
from tests.console.log_rows import PAGE, a_few, numbers, shown

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


@pytest.mark.parametrize(
    "query", [{}, {"outcome": "deny"}, {"exclude_outcome": "deny"}, {"path": "/*"}, {"rule_id": "7"}]
)
def test_every_bar_of_the_histogram_links_to_its_rows(pages, log, query):
    a_few(log)
    log(ago(5, 3.2, path="/x"), ago(6, 30))
    bars = [bar for bar in shown(pages, **query).context["histogram"].bars if bar.bar.total]

    assert len(bars) >= 1
    for bar in bars:
        page = pages.get(f"{PAGE}?{bar.query}")
        assert page.context["number"] == bar.bar.total == sum(bar.counts)
    assert sum(bar.bar.total for bar in bars) == len([each for each in numbers(shown(pages, **query)) if each != 6])


@pytest.mark.parametrize(("length", "minutes"), [(1, 1), (24, 30), (24 * 7, 180), (24 * 30, 720), (24 * 400, 7 * 1440)])
def test_a_histogram_has_few_bars_for_any_window(pages, length, minutes):
    start = (NOON - timedelta(hours=length)).isoformat()
    found = shown(pages, start_time=start).context["histogram"].histogram

    assert found.interval == timedelta(minutes=minutes)
    assert len(found.bars) <= 62


@pytest.mark.parametrize("query", [{"end_time": "1970-06-01T00:00:00Z"}, {"start_time": "9998-12-31T23:59:00Z"}])
def test_a_window_outside_the_supported_years_has_no_histogram(pages, query):
    assert shown(pages, **query).context["histogram"] is None


def new_rows(pages, since, query=""):
    return pages.get(f"{PAGE}rows/?{urlencode({'query': query, 'since': since})}")


def test_new_rows_are_the_matching_ones_since_a_time(pages, log):
    a_few(log)
    page = shown(pages, outcome="deny")
    url, since = page.context["live"], ago(2, 2).at
    answer = pages.client.get(f"{url}&{urlencode({'since': datetime.fromtimestamp(since, UTC).isoformat()})}")

    assert "connect-src 'self'" in page["Content-Security-Policy"]
    assert [row.row.path for row in answer.context["rows"]] == [row.row.path for row in page.context["rows"][:2]]
    assert answer.content.decode().count('<tbody class="entry deny"') == 2
    assert "<html" not in answer.content.decode()


@pytest.mark.parametrize("query", [{"end_time": "2026-03-15T11:00:00Z"}, {"decision_id": str(uuid.uuid4())}])
def test_a_query_that_can_match_no_new_row_is_not_polled(pages, query):
    page = shown(pages, **query)

    assert page.context["live"] == ""
    assert 'id="live"' not in page.content.decode()


@pytest.mark.parametrize(
    "since", ["", "yesterday", "2026-03-15T10:00:00", "2026-13-45T10:00:00Z", "0001-01-01T00:00:00Z"]
)
def test_new_rows_since_an_invalid_time_are_refused(pages, since):
    assert new_rows(pages, since).status_code == 400
    assert new_rows(pages, "2026-03-15T10:00:00Z", "outcome=perhaps").status_code == 400


def test_a_request_that_only_monitor_mode_let_in_is_marked_and_can_be_filtered(pages, log):
    log(ago(1, 1, waf_score=8, would_refuse=True, outcome="allow"), ago(2, 2, waf_score=3), ago(3, 3, rules=[]))

    page = shown(pages, would_refuse="true").content.decode()

    assert numbers(shown(pages, would_refuse="true")) == [1]
    assert numbers(shown(pages, waf_score_min="3")) == [1, 2]
    assert "WAF would refuse" in page
    assert 'href="?would_refuse=true&amp;waf_score_min=8"' in page
