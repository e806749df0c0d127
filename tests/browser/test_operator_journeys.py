"""The main tasks of operators in few clicks: with scripts, without scripts, and with the keyboard only."""

import http.client
import re
import sqlite3
import uuid
from contextlib import closing

import pytest

from tests.browser.operators import enter, visit_from
from tests.support.processes import PATIENCE, wait_until

HANDS = pytest.mark.parametrize(
    "hand",
    ["with scripts", pytest.param("without scripts", marks=pytest.mark.full), "by keyboard"],
    indirect=True,
)
ATTACK = "/?q=%3Cscript%3Ealert(1)%3C/script%3E"
MOST_TABS = 300


class Hand:
    """An operator who uses the mouse or only the keyboard. Counts clicks, and keys that act as clicks."""

    def __init__(self, page, wall, *, by_keyboard):
        self.page, self.wall, self.clicks = page, wall, 0
        self._by_keyboard = by_keyboard

    def click(self, element, key="Enter"):
        self.clicks += 1
        if self._by_keyboard:
            self._reach(element)
            self.page.keyboard.press(key)
        else:
            element.click()

    def fill(self, element, text):
        if self._by_keyboard:
            self._reach(element)
            self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)
        else:
            element.fill(text)

    def search(self, text):
        self.fill(self.page.get_by_role("searchbox"), text)
        self.clicks += 1
        self.page.keyboard.press("Enter")

    def link(self, name, **options):
        return self.page.get_by_role("link", name=name, **options)

    def section(self, name):
        return self.page.locator("#sidebar summary", has_text=name)

    def words(self):
        return self.page.locator("main").inner_text()

    def _reach(self, element):
        element.wait_for()
        found = element.element_handle()  # searching the page after each key would take most of the time
        for _ in range(MOST_TABS):
            if found.evaluate("each => each === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"the keyboard does not reach {element}")


@pytest.fixture(scope="module")
def signed_in(wall, browser):
    """Return the cookies of an admin who has just signed in."""
    context = browser.new_context()
    enter(wall, context.new_page())
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def hand(request, wall, visit, signed_in):
    look = {"viewport": {"width": 1200, "height": 900}, "storage_state": signed_in}
    page = visit(java_script_enabled=request.param != "without scripts", **look)
    page.goto(wall.page("/admin/"))
    return Hand(page, wall, by_keyboard=request.param == "by keyboard")


def refused_from(wall, address):
    """Visit a site from a refused address; return the decision id once it is in the log."""
    connection = http.client.HTTPConnection("127.0.0.1", wall.port, timeout=PATIENCE, source_address=(address, 0))
    with closing(connection):
        connection.request("GET", "/", headers={"Host": f"office.gate.test:{wall.port}"})
        answer = connection.getresponse()
        text = answer.read().decode()
    assert answer.status == 403
    decision = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", f"{answer.headers} {text}")[0]
    wait_until(lambda: wall.call(f"/access-logs?decision_id={decision}")["results"], what="the answer in the log")
    return decision


@HANDS
def test_a_refused_user_is_let_in_after_3_clicks(hand, request):
    address = f"127.0.0.{90 + sum(map(ord, request.node.name)) % 100}"
    hand.wall.call("/ip-black-list", ip=address)
    wait_until(lambda: visit_from(hand.wall, address, "/") == 403, what="an address that is refused")
    decision = refused_from(hand.wall, address)

    hand.search(decision)
    hand.click(hand.link(re.compile("^GET ")))
    hand.click(hand.page.locator(".offer button").first)

    hand.page.wait_for_url("**?again=1*")
    assert hand.clicks == 3
    wait_until(lambda: visit_from(hand.wall, address, "/") == 401, what="the visitor is asked to sign in")


@HANDS
def test_an_attacker_is_banned_in_3_clicks(hand, request):
    address = f"127.0.1.{1 + sum(map(ord, request.node.name)) % 200}"
    for _ in range(4):
        assert visit_from(hand.wall, address, ATTACK) == 403
    row = hand.page.locator("tr", has=hand.link(address, exact=True))
    page = hand.wall.page("/admin/dashboard/?window=1h")
    refused = hand.page.locator("section[aria-labelledby=refused-clients]")
    wait_until(lambda: hand.page.goto(page) and refused.get_by_text(address).count(), what="the attacker")
    hand.page.goto(hand.wall.page("/admin/"))

    hand.click(hand.link("1 hour"))
    hand.click(refused.locator(row).get_by_role("link", name="Ban"))
    hand.click(hand.page.locator("form.panel [type=submit]"))

    assert f"{address} is banned" in hand.page.locator(".messagelist").inner_text()
    assert hand.clicks == 3
    wait_until(lambda: visit_from(hand.wall, address, "/") == 403, what="the attacker is refused everywhere")


@HANDS
def test_a_new_colleague_is_invited_in_5_clicks(hand):
    name = f"colleague-{uuid.uuid4().hex[:8]}"

    hand.click(hand.section("People"))
    hand.click(hand.link("Users"))
    hand.click(hand.link(re.compile("Add user", re.IGNORECASE)))
    hand.fill(hand.page.locator("#id_username"), name)
    hand.fill(hand.page.locator("#id_email"), f"{name}@office.test")
    hand.click(hand.page.locator("#id_invite"), key="Space")
    hand.click(hand.page.locator("[name=_save]"))

    assert hand.page.locator(".errornote").count() == 0, hand.words()
    assert hand.clicks == 5
    assert "/wall/" in hand.wall.link_of_mail(f"{name}@office.test")


@HANDS
def test_a_new_site_has_its_proxy_lines_in_3_clicks(hand):
    host = f"site-{uuid.uuid4().hex[:8]}.gate.test"

    hand.click(hand.section("Sites"))
    hand.click(hand.link("Protect a site"))
    hand.fill(hand.page.locator("#id_site"), host)
    hand.click(hand.page.get_by_role("button", name="Register the site"))

    hand.page.wait_for_selector("text=is registered")
    assert hand.clicks == 3
    assert f"--site {host}" in hand.words()
    assert [each["name"] for each in hand.wall.call(f"/authorized-domains?search={host}")["results"]] == [host]


@HANDS
def test_the_changes_of_yesterday_are_found_in_4_clicks(hand):
    name = f"yesterday-{uuid.uuid4().hex[:8]}"
    hand.wall.call("/groups", name=name)
    (database,) = hand.wall.home.glob("*.sqlite3")
    with closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        (number,) = connection.execute("SELECT max(number) FROM gatewall_policyrevision").fetchone()
        connection.execute(
            "UPDATE gatewall_policyrevision SET committed_at = datetime(committed_at, '-1 day') WHERE number = ?",
            [number],
        )

    hand.click(hand.section("Policy"))
    hand.click(hand.link("History"))
    hand.click(hand.link("Yesterday"))
    hand.click(hand.link(f"Revision {number}"))

    hand.page.wait_for_selector("h1:has-text('revision')")
    assert hand.clicks == 4
    assert name in hand.words()
