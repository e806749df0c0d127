"""The first part of the dashboard: problems, new users and devices, and the map of countries."""

import re
import uuid
from datetime import timedelta
from html import escape

import pytest

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from audit.figures import counters
from audit.models import GapKind, LogGap
from gatewall.console.site import verdict
from gatewall.console.site.world import OUTLINES
from gatewall.health import indicators
from gatewall.models import Node
from gatewall.policy import revisions
from policies import services as policies
from policies.countries import COUNTRY_NAMES
from policies.models import RequestForAccess
from tests.console.conftest import ago
from webhooks.models import Mail

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

PAGE = "/dashboard/"


def problems(page):
    return [(problem.level.value, problem.what, problem.url) for problem in page.context["verdict"].problems]


@pytest.fixture
def healthy(pages, noon, settings):
    """Make an installation without problems, except that it has no geo database."""
    Node.objects.create(name="gate-1", seen_at=noon, revision=revisions.head().revision, log_lag_seconds=0.5)
    (settings.CONFIG.home / "spool").mkdir(exist_ok=True)


@pytest.mark.usefixtures("healthy")
def test_the_page_sums_up_all_problems_in_one_sentence(pages, noon, monkeypatch):
    look = pages.get(PAGE).context["verdict"]
    assert (look.sentence, look.level) == ("Nothing is broken; 1 thing needs attention.", "look")
    assert [problem.fix for problem in look.problems] == ["Run: gatewall geo install"]

    monkeypatch.setattr(indicators.Indicators, "geo_level", indicators.Level.GOOD)
    monkeypatch.setattr(verdict, "_surroundings", lambda *_: [])
    page = pages.get(PAGE)
    assert (page.context["verdict"].sentence, page.context["verdict"].level) == ("Nothing is wrong.", "good")

    LogGap.objects.create(node="gate-1", at=noon, kind=GapKind.DROPPED, count=12)
    page = pages.get(PAGE)
    assert page.context["verdict"].sentence == "1 thing is wrong."
    assert problems(page) == [("bad", "12 records of the access log were lost.", page.context["gap_link"])]


def test_every_problem_has_a_sentence_and_a_fix_that_opens(pages, noon, alice):
    Node.objects.create(name="silent", seen_at=noon - timedelta(hours=1), revision=99)
    Node.objects.create(name="ill", seen_at=noon, revision=99, problem="disk full", log_lag_seconds=90)
    Node.objects.create(name="cut", seen_at=noon, revision=99, log_lag_seconds=90)
    worker = {"pid": 7, "revision": 98, "rejected": "no memory"}
    Node.objects.create(name="old", seen_at=noon, revision=99, workers=[worker], log_lag_seconds=90)
    Node.objects.create(name="late", seen_at=noon, revision=98, log_lag_seconds=90)
    LogGap.objects.create(node="ill", at=noon, kind=GapKind.DROPPED, count=12)
    counters.add(counters.LOG_DELETED, 34)
    for kind in (EventKind.PROXY_UNTRUSTED, EventKind.ATTACK_DETECTED):
        record_event(Event(kind, noon, "203.0.113.7"))
    Mail.objects.create(kind="wrong-codes", user=alice, at=noon, created_at=noon, next_at=noon, failure="421")

    page = pages.get(PAGE)
    found = problems(page)

    assert [level for level, _, _ in found] == sorted(level for level, _, _ in found)
    assert page.context["verdict"].level == "bad"
    words = " ".join(what for _, what, _ in found)
    for part in ("silent is silent", "ill reports: disk full", "12 records", "removed", "attack", "Mails"):
        assert part.lower() in words.lower(), part
    for _level, what, url in found:
        assert not url or url.startswith("#") or pages.client.get(url, follow=True).status_code == 200, what
    html = page.content.decode()
    assert all(html.count(f'href="{escape(url)}"') for _, _, url in found if url)


def test_new_devices_and_requests_for_access_are_shown(pages, noon, bob):
    domain = policies.register_domain(actor="test", name="office.example", access="authenticated")
    parts = {"decision_id": uuid.uuid4(), "asked_at": noon}
    RequestForAccess.objects.create(user=bob, domain=domain, reason="I need it", **parts)
    record_event(Event(EventKind.PASSKEY_ADDED, noon - timedelta(minutes=5), "203.0.113.7", user=bob))
    record_event(Event(EventKind.TOTP_DEVICE_ADDED, noon - timedelta(days=5), "203.0.113.7", user=bob))
    page = pages.get(PAGE)
    html = page.content.decode()

    assert "Bob asks for office.example" in html
    assert "1 asks for access" in html
    assert "Bob: passkey.added" in html
    assert "Bob: totp-device.added" not in html
    assert len(pages.client.get(page.context["people"]["devices_link"]).context["cl"].queryset) == 1


def test_countries_are_on_the_map_by_their_share(pages, log):
    countries = ["DE"] * 20 + ["NZ", "SG", "XX", None]
    log(*(ago(number, 1, country_code=code) for number, code in enumerate(countries, 1)))
    page = pages.get(PAGE)
    shapes = {shape.code: shape.shade for shape in page.context["world"].shapes}

    assert shapes == {"DE": 4, "NZ": 1}  # Singapore is too small for the map
    assert page.context["world"].others.count("M") > 200
    words = page.content.decode()
    assert "Germany (DE)" in words
    assert "Singapore (SG)" in words
    assert "<title>DE: 20</title>" in words


def test_every_outline_of_the_map_is_a_known_country():
    assert {code for code in OUTLINES if code != "XK"} <= set(COUNTRY_NAMES)
    assert len(OUTLINES) > 170
    assert all(re.fullmatch(r"(M-?\d+,-?\d+l[-\d, ]+z)+", outline) for outline in OUTLINES.values())
