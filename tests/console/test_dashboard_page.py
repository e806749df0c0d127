"""The dashboard page: its figures are those of the API, and every link leads to the rows that were counted."""

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from audit.figures import counters
from audit.models import GapKind, LogGap, SecurityEvent
from gatewall.kernel.smtp import Sent
from gatewall.models import Node
from tests.console.conftest import ago, query_of
from tests.support.proxies import Api, a_token
from webhooks.mail import queue
from webhooks.models import Mail

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

PAGE = "/dashboard/"


class Links(HTMLParser):
    """Collect every link of a page with its text."""

    def __init__(self, response):
        super().__init__()
        self.found, self._open = [], None
        self.feed(response.content.decode())

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self._open = [dict(attrs).get("href", ""), ""]
            self.found.append(self._open)

    def handle_endtag(self, tag):
        if tag == "a":
            self._open = None

    def handle_data(self, data):
        if self._open is not None:
            self._open[1] += data


def links_of(response):
    return [(href, " ".join(text.split())) for href, text in Links(response).found]


def some_day(log):
    answers = [
        ("allow", 200, "session-valid"),
        ("challenge", 401, "credential-missing"),
        ("deny", 403, "client-blocked"),
    ]
    records = []
    for number in range(1, 60):
        outcome, status, reason = answers[number % 3]
        hours = 0.4 + number * 0.5  # the last ones are from the day before
        client, country = f"203.0.113.{number % 4}", ("NZ", "DE", None)[number % 3]
        parts = {"outcome": outcome, "status": status, "reason": reason, "rules": []}
        records.append(
            ago(number, hours, client_ip=client, country_code=country, host=f"h{number % 2}.example", **parts)
        )
    records.append(ago(90, 2))
    log(*records)


def test_the_figures_are_those_of_the_api(pages, alice, log):
    some_day(log)
    page = pages.get(PAGE)
    window = query_of(next(href for href, text in links_of(page) if text.startswith("Requests ")))
    stats = Api(a_token(alice)).get("/access-logs/stats", window).json()
    data = page.context["data"]

    assert stats["total"] > 30
    counts = data.now.outcomes.counts
    assert (data.now.outcomes.total, counts["allow"], counts["challenge"], counts["deny"]) == tuple(
        stats[name] for name in ("total", "allowed", "challenged", "denied")
    )
    assert [{"reason": key, "count": number} for key, number in data.reasons] == stats["by_reason"]
    assert [{"client_ip": each.address, "count": each.count} for each in data.clients] == stats["top_clients"]
    assert [{"host": key, "count": number} for key, number in data.hosts] == stats["top_hosts"]
    assert data.rules == stats["top_rules"]
    assert [{"country_code": key or None, "count": number} for key, number in data.countries] == stats["by_country"]


def test_every_number_links_to_as_many_rows(pages, log):
    some_day(log)
    page = pages.get(PAGE)
    led = 0
    for href, text in links_of(page):
        number = re.search(r"^(?:Requests|Refused|Challenged) (\d+)|(\d+)$", text)
        if "/admin/log/?" not in href or number is None or re.match(r"(Block rate|p99|\d{4}-|\d+\.\d+)", text):
            continue
        shown = pages.client.get(href)
        assert shown.status_code == 200
        assert shown.context["number"] == int(number[1] or number[2]), text
        led += 1
    assert led > 12


def test_every_bar_links_to_its_rows(pages, log):
    some_day(log)
    rows = [row for row in pages.get(PAGE).context["rows"] if row["total"]]

    assert len(rows) > 20
    assert sum(row["total"] for row in rows) == pages.get(PAGE).context["data"].now.outcomes.total
    for row in rows[:5]:
        assert pages.client.get(row["url"]).context["number"] == row["total"]


def test_clients_link_to_their_rows(pages, log):
    some_day(log)
    for table in pages.get(PAGE).context["clients"].values():
        assert table["rows"]
        for row in table["rows"]:
            assert pages.client.get(row["url"]).context["number"] == row["count"]


@pytest.mark.parametrize(("name", "total"), [("1h", 0), ("24h", 1), ("7d", 2), ("30d", 3)])
def test_a_window_counts_its_answers_and_those_of_the_previous_window(pages, log, name, total):
    log(ago(1, 1.5), ago(2, 24 * 5), ago(3, 24 * 20), ago(4, 24 * 45))

    page = pages.get(f"{PAGE}?window={name}")

    assert page.context["data"].now.outcomes.total == total
    assert page.context["data"].before.outcomes.total == {"1h": 1, "24h": 0, "7d": 0, "30d": 1}[name]
    bars = page.context["rows"]
    assert sum(row["total"] for row in bars) == total
    assert 30 <= len(bars) <= 61


@pytest.mark.parametrize("query", ["window=2h", "refresh=5", "window=", "colour=red", "window=24h&window=7d"])
def test_the_page_refuses_unknown_parameters(pages, query):
    page = pages.get(f"{PAGE}?{query}")

    assert page.status_code == 400
    assert page.context["wrong"]


def test_the_page_refreshes_only_if_chosen(pages):
    assert not pages.get(PAGE).has_header("Refresh")
    page = pages.get(f"{PAGE}?refresh=30")
    assert page["Refresh"] == "30"
    assert any(text == "Off" and "refresh" not in href for href, text in links_of(page))


def test_events_and_bans_are_counted_and_linked(pages, noon):
    for number in range(3):
        record_event(Event(EventKind.LOGIN_FAILED, noon, f"203.0.113.{number}"))
    record_event(Event(EventKind.PROXY_UNTRUSTED, noon, "203.0.113.7"))
    page = pages.get(PAGE)
    tiles = {tile["label"]: tile for tile in page.context["tiles"]}

    assert tiles["Failed sign-ins"]["value"] == "3"
    assert page.context["data"].untrusted == 1
    shown = pages.client.get(tiles["Failed sign-ins"]["url"])
    assert shown.status_code == 200
    assert sum(event.count for event in shown.context["cl"].queryset) == 3
    assert [event.kind for event in pages.client.get(page.context["untrusted_link"]).context["cl"].queryset] == [
        "proxy.untrusted"
    ]
    assert SecurityEvent.objects.count() >= 2
    assert pages.client.get(tiles["Active bans"]["url"]).status_code == 200


def test_the_size_of_the_log_and_the_rows_removed_for_it_are_shown(pages, noon):
    before = pages.get(PAGE)
    counters.note(counters.LOG_BYTES, 3 * 2**30, noon)
    counters.add(counters.LOG_FOLDED, 1200)
    counters.add(counters.LOG_DELETED, 34)
    record_event(Event(EventKind.LOG_SHORTENED, noon, detail={"max_bytes": 5 * 2**30}))
    after = pages.get(PAGE)

    assert "Not measured yet" in before.content.decode()
    assert before.context["indicators"].size_level == "good"
    text = after.content.decode().replace("\xa0", " ")
    assert "3.0 GB of 5.0 GB" in text
    assert "1200 refused rows folded and 34 rows deleted to make room" in text
    assert after.context["indicators"].size_level == "look"
    assert [event.kind for event in pages.client.get(after.context["shortened_link"]).context["cl"].queryset] == [
        "log.shortened"
    ]


def test_indicators_show_stale_policies_lag_and_gaps(pages, noon):
    Node.objects.create(name="gate-1", seen_at=noon, revision=0, log_lag_seconds=0.5, log_spooled_bytes=10)
    good = pages.get(PAGE).context["indicators"]
    Node.objects.update(revision=99, workers=[{"pid": 7, "revision": 98, "rejected": "no memory"}], log_lag_seconds=90)
    LogGap.objects.create(node="gate-1", at=noon, kind=GapKind.DROPPED, count=12)
    page = pages.get(PAGE)
    bad = page.context["indicators"]

    assert (good.lag_level, good.gap_level, good.webhook_level) == ("good", "good", "good")
    assert (bad.policy_level, bad.lag_level, bad.gap_level, bad.gaps["dropped"]) == ("bad", "bad", "bad", 12)
    assert "no memory" in page.content.decode()
    assert "12 dropped" in page.content.decode()


def test_mails_that_fail_are_shown_with_their_events(pages, noon, alice):
    good = pages.get(PAGE).context["indicators"]
    mail = Mail.objects.create(kind="wrong-codes", user=alice, at=noon, created_at=noon, next_at=noon, failure="421")
    waits = pages.get(PAGE)
    queue.settle(mail, Sent(failure="550", is_final=True), noon)
    page = pages.get(PAGE)
    events = pages.client.get(page.context["mail_link"]).context["cl"].queryset

    levels = [good.mail_level, waits.context["indicators"].mail_level, page.context["indicators"].mail_level]
    assert levels == ["good", "look", "bad"]
    assert "1 waits after a failed attempt" in waits.content.decode()
    assert "1 mail given up" in page.content.decode()
    assert [event.kind for event in events] == ["mail.failed"]


def test_the_number_of_statements_does_not_grow(pages, log):
    def cost():
        with CaptureQueriesContext(
            connection,
        ) as statements:
            pages.get(f"{PAGE}?window=30d")
        return len(statements)

    pages.get(PAGE)  # the first one loads the policy
    empty = cost()
    some_day(log)

    assert cost() == empty <= 36


def test_untrusted_text_is_escaped(pages, log):
    evil = "<script>alert(1)</script>\"'"
    log(ago(1, 1, host=evil, rules=[{"id": 7, "name": evil, "action": "block"}]))

    html = pages.get(PAGE).content.decode()

    assert "<script>alert" not in html
    assert evil in unescape(html)
    assert not re.search(r'(href|src)="javascript:', html)


def test_only_admins_see_the_dashboard(pages, bob, client):
    assert client.get("/wall/admin/dashboard/").status_code == 302
    client.force_login(bob)
    assert client.get("/wall/admin/dashboard/").status_code == 302
    assert timezone.now()


def test_the_landing_page_is_the_overview(pages, log):
    log(ago(1, 1))
    page = pages.get("/?window=7d")

    assert page.context["data"].now.outcomes.total == 1
    assert 'href="/wall/admin/" aria-current="page"' in page.content.decode()
