"""Real-life sequences through nginx: answers, events and bans with the default settings.

nginx takes the visitor's address from a header of the test, as it does behind a load balancer.
"""

import json
from collections import Counter
from urllib.parse import urlencode

import pytest

from gatewall.install.ports import free_port
from tests.support.processes import agent, api, control_plane, nginx, prepare, request, sign_in, wait_until
from tests.support.receiver import receiving
from tests.support.servers import Admin
from tests.support.upstream import Upstream

VISITOR, SCANNER, CGNAT, MONITOR = "198.51.100.20", "203.0.113.66", "100.64.7.7", "192.0.2.53"
GUESSER, LAST = "203.0.113.99", "198.51.100.99"
READER = "198.51.100.31"
REALIP = "set_real_ip_from 127.0.0.1; real_ip_header X-Test-Visitor;"
SCAN = (
    *("/.git/config", "/.env", "/?file=../../etc/passwd", "/?id=1%27%20UNION%20SELECT%20password%20FROM%20users--"),
    *("/?q=%3Cscript%3Ealert(1)%3C/script%3E", "/?x=;cat%20/etc/passwd", "/.svn/entries"),
    *("/a/.git/config", "/a/.env", "/.aws/credentials", "/.htpasswd", "/a/?q=%3Cscript%3Ealert(1)%3C/script%3E"),
)


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    home, port = tmp_path_factory.mktemp("home"), free_port()
    prepare(home)
    with agent(home), control_plane(home, port, GATEWALL_WORKERS="1"):
        api(port, "/ip-white-list", ip=MONITOR)
        yield port


@pytest.fixture(scope="module")
def proxy(gate, tmp_path_factory):
    with Upstream() as site, nginx(tmp_path_factory.mktemp("nginx"), gate=gate, site=site.port, extra=REALIP) as port:
        yield port


@pytest.fixture(scope="module")
def admin(gate):
    return Admin(gate)


@pytest.fixture(scope="module")
def pager(admin):
    """Return a receiver of notices about severe events."""
    with receiving() as receiver:
        admin.post("/webhooks", name="pager", url=receiver.url, allow_private=True)
        yield receiver


def paged(pager, client):
    """Return the types of the notices about a client, in order, without repeated deliveries of one id."""
    notices = {headers["webhook-id"]: json.loads(body) for _, headers, body in pager.got}
    return [notice["type"] for notice in notices.values() if notice["data"]["client_ip"] == client]


def visit(proxy, client, path="/", **headers):
    """Request a page from an address; return the status."""
    return request(proxy, path, {"X-Test-Visitor": client, **headers}).status


def told(admin, client):
    """Return the events about a client: counts by kind and reason or detector."""
    counts = Counter()
    for event in admin.get(f"/security-events?client_ip={client}")["results"]:
        detail = event["detail"]
        counts[event["kind"], detail.get("reason") or detail.get("detector", "")] += event["count"]
    return dict(counts)


def scanned(admin):
    """Count the requests of the scan in the access log by reason."""
    rows = admin.get(f"/access-logs?client_ip={SCANNER}&page_size=500")["results"]
    return Counter(row["reason"] for row in rows if row["path"] != "/" or row["query"])


def bans(admin, client):
    return [entry["source"] for entry in admin.get(f"/ip-black-list?ip={client}")["results"]]


def has_been_looked_at(proxy, admin):
    """Wait until the agent has processed all answers so far; it ships in the order of the answers."""
    before = told(admin, LAST).get(("request.blocked", "waf-rule"), 0)
    assert visit(proxy, LAST, SCAN[0]) == 403
    key = ("request.blocked", "waf-rule")
    wait_until(lambda: told(admin, LAST).get(key, 0) > before, what="the last answer among the events")


def test_a_page_with_forty_images_and_no_session_causes_no_ban_and_no_notice(proxy, admin, pager):
    assert {visit(proxy, VISITOR, f"/image-{number}.png") for number in range(41)} == {401}
    has_been_looked_at(proxy, admin)

    assert (told(admin, VISITOR), bans(admin, VISITOR), paged(pager, VISITOR)) == ({}, [], [])


def test_five_images_of_another_site_are_refused_and_ban_none_of_its_visitors(proxy, admin, pager):
    image = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    assert {path: visit(proxy, READER, path, **image) for path in SCAN} == dict.fromkeys(SCAN, 403)
    older = {"Referer": "https://forum.example/thread?id=7"}
    assert {path: visit(proxy, READER, path, **older) for path in SCAN} == dict.fromkeys(SCAN, 403)
    wait_until(lambda: ("client.suspected", "rule-probing") in told(admin, READER), what="the event")
    has_been_looked_at(proxy, admin)

    assert bans(admin, READER) == []
    assert visit(proxy, READER) == 401


def test_a_scanner_is_banned_and_let_in_again_by_hand(proxy, admin, pager):
    assert {path: visit(proxy, SCANNER, path) for path in SCAN} == dict.fromkeys(SCAN, 403)
    wait_until(lambda: bans(admin, SCANNER) == ["auto-ban"], what="the ban")
    wait_until(lambda: visit(proxy, SCANNER) == 403, what="the ban at the gate")

    has_been_looked_at(proxy, admin)

    reasons = scanned(admin)  # on a busy machine the ban may come before the last requests
    assert reasons.total() == len(SCAN)
    assert set(reasons) <= {"waf-rule", "client-blocked"}
    assert told(admin, SCANNER)["client.banned", "rule-probing"] == 1
    assert told(admin, SCANNER)["request.blocked", "waf-rule"] == reasons["waf-rule"]
    assert {kind for kind, _ in told(admin, SCANNER)} == {"request.blocked", "client.banned"}

    wait_until(lambda: paged(pager, SCANNER) == ["client.banned"], what="the notice")
    admin.post("/ip-black-list/unban", addresses=[SCANNER])
    wait_until(lambda: len(paged(pager, SCANNER)) > 1, what="the end of it")
    assert paged(pager, SCANNER) == ["client.banned", "client.banned.ended"]
    assert visit(proxy, SCANNER) == 401
    has_been_looked_at(proxy, admin)
    assert bans(admin, SCANNER) == []


def test_a_shared_address_with_an_attacker_and_good_users_is_reported_and_not_banned(proxy, admin, pager):
    cookie = sign_in(proxy)
    assert [visit(proxy, CGNAT, Cookie=cookie) for _ in range(10)] == [200] * 10
    has_been_looked_at(proxy, admin)
    assert {visit(proxy, CGNAT, path) for path in SCAN} == {403}
    wait_until(lambda: ("client.suspected", "rule-probing") in told(admin, CGNAT), what="the event")
    wait_until(lambda: paged(pager, CGNAT) == ["client.suspected"], what="the notice")

    assert bans(admin, CGNAT) == []
    assert told(admin, CGNAT) == {
        ("request.blocked", "waf-rule"): len(SCAN),
        ("client.suspected", "rule-probing"): told(admin, CGNAT)["client.suspected", "rule-probing"],
    }
    assert visit(proxy, CGNAT, Cookie=cookie) == 200


def test_an_allowlisted_monitor_is_neither_banned_nor_reported(proxy, admin, pager):
    assert {visit(proxy, MONITOR, path) for path in SCAN} == {200}
    has_been_looked_at(proxy, admin)

    assert (told(admin, MONITOR), bans(admin, MONITOR), paged(pager, MONITOR)) == ({}, [], [])


def test_password_guessing_is_banned_and_the_owner_can_still_sign_in(proxy, admin):
    form = urlencode({"username": "admin", "password": "wrong", "rd": "/"})
    for _ in range(20):
        answer = request(proxy, "/wall/", {"X-Test-Visitor": GUESSER}, method="POST", body=form)
        assert answer.status in {401, 429}
    wait_until(lambda: bans(admin, GUESSER) == ["auto-ban"], what="the ban")

    assert told(admin, GUESSER) == {
        ("login.failed", ""): 10,
        ("login.locked", ""): 10,
        ("client.banned", "brute-force"): 1,
    }
    assert visit(proxy, GUESSER) == 403
    assert sign_in(proxy)
