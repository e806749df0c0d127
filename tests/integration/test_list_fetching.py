"""Subscribed lists: each is fetched when due, by one host, and a failed fetch never replaces a good list."""

import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from gatewall.agent.list_fetcher import ListFetcher
from gatewall.policy import revisions
from policies import services
from policies.list_files.diff import ListDiff
from policies.lists import subscriptions
from policies.models import ListSubscription
from tests.support.lists import networks
from tests.support.publisher import publishing

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
LIST = b"; a list\n1.1.1.1 ; A\n2.2.2.2\n3.3.3.3\n4.4.4.4\n"


@pytest.fixture
def publisher():
    with publishing({"/list": (200, {"ETag": '"1"'}, LIST)}) as publisher:
        yield publisher


@pytest.fixture
def subscribed(publisher):
    """Create a subscription to a list on loopback, which it allows."""
    return subscriptions.subscribe(actor="alice", name="drop", url=f"{publisher.url}/list", allow_private=True)


def fetch(at=None):
    """Fetch due lists; return the only subscription afterwards."""
    assert subscriptions.fetch_next(at or timezone.now())
    return ListSubscription.objects.get()


def test_a_new_list_is_fetched_at_once_and_refuses(subscribed, publisher, auth):
    publisher.answers["/list"] = (200, {}, b"198.51.100.0/24\n")
    before = timezone.now()

    row = fetch()

    assert auth().verdict == (403, "client-blocked")
    assert (row.failure, row.entries) == ("", 1)
    assert row.succeeded_at == row.tried_at >= before


def test_the_next_time_is_an_interval_later_give_or_take_a_tenth(subscribed):
    now = timezone.now()

    row = fetch(now)

    assert 0.9 * DAY <= row.next_at - now <= 1.1 * DAY
    assert not subscriptions.fetch_next(now + 0.89 * DAY)
    assert subscriptions.fetch_next(now + 1.11 * DAY)


def test_intervals_differ_so_that_not_all_ask_at_once(subscribed):
    now, seen = timezone.now(), set()
    for _ in range(8):
        ListSubscription.objects.update(next_at=now)
        seen.add(fetch(now).next_at)

    assert len(seen) > 4


def test_a_list_that_has_not_changed_is_not_sent_again(subscribed, publisher):
    fetch()
    revision = revisions.current()
    publisher.answers["/list"] = (304, {}, b"")

    row = fetch(timezone.now() + 2 * DAY)

    assert publisher.asked[1]["If-None-Match"] == '"1"'
    assert (row.failure, row.entries, len(networks())) == ("", 4, 4)
    assert revisions.current() == revision


def test_a_list_whose_entries_were_taken_away_is_sent_again(subscribed, publisher):
    fetch()
    services.BlocklistEntry.objects.all().delete()

    fetch(timezone.now() + 2 * DAY)

    assert "If-None-Match" not in publisher.asked[1]
    assert len(networks()) == 4


NOISE = random.Random(1).randbytes(4000)  # noqa: S311 - no secrets
FAILURES = {
    "fails": ((503, {}, b"1.1.1.1"), "answered 503"),
    "sends a page": ((200, {}, b"<html>\n<p>moved</p>\n"), "is not an IP address"),
    "sends noise": ((200, {}, NOISE), "line 1: "),
    "sends nothing": ((200, {}, b""), "no usable entry"),
    "shrinks": ((200, {}, b"1.1.1.1\n"), "less than half"),
    "cuts off": ((200, {"Content-Length": "999"}, LIST), "broke off"),
    "sends everybody": ((200, {}, b"0.0.0.0/0\n" + LIST), "is larger than /8"),
    "compresses": ((200, {"Content-Encoding": "gzip"}, b"\x1f\x8b\x08\0\0"), "is not an IP address"),
    "goes round": ((302, {"Location": "/list"}, b""), "answered 302"),
}


@pytest.mark.parametrize(("answer", "words"), FAILURES.values(), ids=FAILURES)
def test_a_failed_fetch_is_recorded_and_changes_no_entry(subscribed, publisher, answer, words):
    fetch()
    revision = revisions.current()
    publisher.answers["/list"] = answer
    later = timezone.now() + 2 * DAY

    row = fetch(later)

    assert words in row.failure
    assert (len(networks()), row.entries, revisions.current()) == (4, 4, revision)
    assert (row.tried_at, row.failures) == (later, 1)
    assert row.succeeded_at < later


def test_a_full_disk_is_recorded_and_changes_no_entry(subscribed, monkeypatch):
    def refuse(diff, entry):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(ListDiff, "want", refuse)

    row = fetch()

    assert "disk is full" in row.failure
    assert (row.failures, networks()) == (1, [])


@pytest.mark.parametrize("minutes", [15, 43_200])
def test_a_clock_that_is_set_back_stops_no_fetching(subscribed, minutes):
    ListSubscription.objects.update(interval_minutes=minutes)
    now = timezone.now()
    fetch(now + 400 * DAY)

    row = fetch(now)

    assert row.tried_at == now
    assert not subscriptions.fetch_next(now + timedelta(minutes=13))


def test_a_server_that_hangs_is_left(subscribed, publisher, monkeypatch):
    monkeypatch.setattr(subscriptions, "SECONDS", 0.2)
    publisher.answers["/list"] = lambda _, over: over.wait(5)

    assert "took too long" in fetch().failure


def test_a_failed_fetch_is_retried_with_growing_delays(subscribed, publisher):
    publisher.answers["/list"] = (500, {}, b"")
    waits, at = [], timezone.now()
    for _ in range(12):
        row = fetch(at)
        waits.append((row.next_at - at) / timedelta(minutes=1))
        at = row.next_at

    assert 4.5 <= waits[0] <= 5.5
    assert 9 <= waits[1] <= 11
    assert 0.9 * 1440 <= waits[-1] <= 1.1 * 1440
    assert row.failures == 12

    publisher.answers["/list"] = (200, {}, LIST)
    row = fetch(at)
    assert (row.failures, row.failure, row.entries) == (0, "", 4)


def test_a_list_from_a_private_address_is_refused_unless_allowed(publisher, admin):
    body = {"name": "drop", "url": f"{publisher.url}/list"}
    refused = admin.post("/list-subscriptions", body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "url")

    made = admin.post("/list-subscriptions", {**body, "url": "https://localhost/list"})
    assert made.status_code == 201
    assert "not public" in fetch().failure
    assert publisher.asked == []


def test_only_one_of_many_hosts_fetches_a_list(subscribed, publisher):
    now = timezone.now()
    claimed = [subscriptions._claim(now) for _ in range(3)]

    assert [each is not None for each in claimed] == [True, False, False]


@pytest.mark.django_db(transaction=True)
def test_of_hosts_that_claim_at_once_one_gets_it(publisher):
    subscriptions.subscribe(actor="alice", name="drop", url=f"{publisher.url}/list", allow_private=True)
    now = timezone.now()

    def claim(_):
        try:
            return subscriptions._claim(now) is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as hosts:
        assert sum(hosts.map(claim, range(8))) == 1


@pytest.mark.parametrize("what", ["delete", "disable", "change"])
def test_a_list_fetched_for_a_changed_subscription_is_not_imported(subscribed, publisher, what):
    changes = [
        {
            "delete": lambda: subscriptions.unsubscribe(subscribed, actor="bob"),
            "disable": lambda: subscriptions.change_subscription(subscribed, actor="bob", enabled=False),
            "change": lambda: subscriptions.change_subscription(subscribed, actor="bob", remark="x"),
        }[what]
    ]

    def in_the_middle():
        while changes:
            changes.pop()()
        return False

    subscriptions.fetch_next(timezone.now(), in_the_middle)

    assert networks() == []
    assert not ListSubscription.objects.exclude(tried_at=None).exists()


def test_a_disabled_list_is_not_fetched_and_keeps_its_entries(subscribed):
    fetch()
    subscriptions.change_subscription(subscribed, actor="alice", enabled=False)

    assert not subscriptions.fetch_next(timezone.now() + 9 * DAY)
    assert len(networks()) == 4


def test_a_deleted_list_takes_its_entries_along_in_one_revision(subscribed, auth, publisher):
    publisher.answers["/list"] = (200, {}, b"198.51.100.0/24\n")
    fetch()
    services.block_network(actor="alice", network="9.9.9.9")
    revision = revisions.current().revision
    assert auth().reason == "client-blocked"

    subscriptions.unsubscribe(ListSubscription.objects.get(), actor="alice")

    assert (networks(), networks("manual")) == ([], ["9.9.9.9"])
    assert revisions.current().revision == revision + 1
    assert auth().reason == "credential-missing"


def test_a_changed_url_is_asked_without_the_tag_of_the_old_one(subscribed, publisher):
    fetch()
    publisher.answers["/other"] = (200, {}, LIST)

    subscriptions.change_subscription(subscribed, actor="alice", url=f"{publisher.url}/other")
    fetch()

    assert "If-None-Match" not in publisher.asked[1]


def test_a_tag_that_is_too_long_or_no_text_is_not_kept(subscribed, publisher):
    publisher.answers["/list"] = (200, {"ETag": "x" * 5000}, LIST)

    assert fetch().tag == ""


@pytest.mark.django_db(transaction=True)
def test_the_thread_of_the_agent_fetches_due_lists_and_ends_on_stop(publisher):
    subscriptions.subscribe(actor="alice", name="drop", url=f"{publisher.url}/list", allow_private=True)
    fetcher = ListFetcher()

    with fetcher.running():
        for _ in range(200):
            if ListSubscription.objects.get().tried_at:
                break
            fetcher._stop.wait(0.05)

    assert not fetcher._thread.is_alive()
    assert len(networks()) == 4


def test_an_allowed_address_is_let_in_even_if_a_list_blocks_it(subscribed, publisher, auth):
    publisher.answers["/list"] = (200, {}, b"198.51.100.20\n198.51.100.21\n")
    services.allow_network(actor="alice", network="198.51.100.20")
    wide = services.allow_network(actor="alice", network="198.51.0.0/16")

    assert fetch().entries == 2

    def reasons():
        return [auth(x_forwarded_for=f"198.51.100.{number}").reason for number in (20, 21)]

    assert reasons() == ["client-allowed", "client-allowed"]
    services.disallow_network(wide, actor="alice")
    assert reasons() == ["client-allowed", "client-blocked"]
