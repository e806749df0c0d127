"""WAF rules managed over the API, through a real nginx: block, monitor, exclusions, hits, and explanations."""

from urllib.parse import quote

import pytest

from gatewall.install.ports import free_port
from tests.support.processes import PATIENCE, agent, control_plane, nginx, prepare, request, send, token_of, wait_until
from tests.support.upstream import Upstream

HOST, OTHER = "office.example", "shop.example"
UNION = "1' UNION SELECT password FROM users--"
ATTACK = f"/search?q={quote(UNION)}"


class Wall:
    """One Gatewall behind nginx, and its API for the first admin."""

    def __init__(self, control, proxy):
        self._control, self._proxy = control, proxy
        self._token = token_of(control)

    def call(self, method, path, /, **fields):
        return send(self._control, self._token, method, path, fields or None)

    def visit(self, path, host=HOST, **headers):
        """Request a page of a public site; return status and decision id."""
        answer = request(self._proxy, path, {"Host": host, **headers})
        return answer.status, answer.header("X-Gatewall-Decision-Id")

    def status(self, path, host=HOST, **headers):
        return self.visit(path, host, **headers)[0]

    def rule(self, name):
        (found,) = self.call("GET", f"/waf-rules?name={name}")["results"]
        return found

    def change(self, name, **fields):
        return self.call("PUT", f"/waf-rules/{self.rule(name)['id']}", **fields)

    def logged(self, decision_id):
        """Return the entry of the access log, once it is stored."""
        path = f"/access-logs?decision_id={decision_id}"
        wait_until(lambda: self.call("GET", path)["results"], PATIENCE, "the row of the access log")
        return self.call("GET", f"/access-logs/{decision_id}")


@pytest.fixture(scope="module")
def wall(tmp_path_factory):
    home, port = tmp_path_factory.mktemp("home"), free_port()
    prepare(home)
    with Upstream() as site, agent(home), control_plane(home, port, GATEWALL_WORKERS="1"):
        folder = tmp_path_factory.mktemp("nginx")
        with nginx(folder, gate=port, site=site.port) as proxy:
            wall = Wall(port, proxy)
            for name in (HOST, OTHER):
                wall.call("POST", "/authorized-domains", name=name, access="public")
            # Only one of the rules that match the attack is active, so that the changes below affect the answer.
            wall.call("POST", "/waf-rules/batch", category="sqli", enabled=False)
            wall.change("sqli-union-select", enabled=True)
            yield wall


@pytest.fixture(autouse=True)
def as_it_came(wall):
    yield
    wall.change("sqli-union-select", action="block", exclusions=[], domain=None, path_prefix=None)


def waf_step(trace):
    return next(step for step in trace if step["step"] == "waf-rules-match")


def where(rule):
    return [(place["target"], place["name"], place["form"]) for place in rule["places"]]


def test_a_builtin_rule_blocks_and_the_log_has_the_rule(wall):
    rule = wall.rule("sqli-union-select")

    status, decision_id = wall.visit(ATTACK)

    assert status == 403
    entry = wall.logged(decision_id)
    assert (entry["status"], entry["reason"]) == (403, "waf-rule")
    assert entry["decided_by"] == {"kind": "waf-rules", "id": rule["id"]}
    place = {"target": "args", "name": "q"}
    assert entry["rules"] == [{"id": rule["id"], "name": "sqli-union-select", "action": "block", "place": place}]
    step = waf_step(entry["trace"])
    (shown,) = step["rules"]
    assert step["decided"] is True
    assert where(shown) == [("args", "q", "decoded")]
    assert "UNION SELECT" in shown["places"][0]["text"]


def test_a_monitored_rule_lets_the_request_through_and_is_noted(wall):
    wall.change("sqli-union-select", action="monitor")

    status, decision_id = wall.visit(ATTACK)

    assert status == 200
    entry = wall.logged(decision_id)
    assert (entry["reason"], [(each["name"], each["action"]) for each in entry["rules"]]) == (
        "host-public",
        [("sqli-union-select", "monitor")],
    )
    assert where(waf_step(entry["trace"])["rules"][0]) == [("args", "q", "decoded")]


def test_a_monitored_rule_does_not_stop_a_later_blocking_rule(wall):
    wall.change("sqli-union-select", action="monitor")
    own = wall.call("POST", "/waf-rules", name="late", pattern="password", targets=["args"], priority=900)

    status, decision_id = wall.visit(ATTACK)
    wall.call("DELETE", f"/waf-rules/{own['id']}")

    assert status == 403
    entry = wall.logged(decision_id)
    assert [(each["name"], each["action"]) for each in entry["rules"]] == [
        ("sqli-union-select", "monitor"),
        ("late", "block"),
    ]
    assert entry["decided_by"]["id"] == own["id"]


def test_the_whole_set_can_monitor_or_be_off(wall):
    statuses = {}
    for mode in ("monitor", "off", "block"):
        wall.call("PUT", "/system/settings", waf_mode=mode)
        statuses[mode] = wall.visit(ATTACK)

    assert {mode: status for mode, (status, _) in statuses.items()} == {"monitor": 200, "off": 200, "block": 403}
    noted = {mode: wall.logged(decision_id)["rules"] for mode, (_, decision_id) in statuses.items()}
    assert {mode: [each["action"] for each in rules] for mode, rules in noted.items()} == {
        "monitor": ["monitor"],
        "off": [],
        "block": ["block"],
    }


@pytest.mark.parametrize(
    ("exclusion", "spared", "refused"),
    [
        (
            {"argument": "q"},
            [(ATTACK, HOST), (ATTACK, OTHER)],
            [(f"/search?r={quote(UNION)}", HOST), (f"{ATTACK}&r={quote(UNION)}", HOST)],
        ),
        (
            {"path_prefix": "/search"},
            [(ATTACK, HOST), (f"/search/deep?x={quote(UNION)}", HOST)],
            [
                (f"/searches?q={quote(UNION)}", HOST),
                (f"/search/../a?q={quote(UNION)}", HOST),
                (f"/?q={quote(UNION)}", HOST),
            ],
        ),
        ({"domain": HOST}, [(ATTACK, HOST), (f"/a?b={quote(UNION)}", HOST)], [(ATTACK, OTHER)]),
        (
            {"domain": HOST, "path_prefix": "/search", "argument": "q"},
            [(ATTACK, HOST)],
            [(ATTACK, OTHER), (f"/a?q={quote(UNION)}", HOST), (f"/search?r={quote(UNION)}", HOST)],
        ),
    ],
    ids=["argument", "path", "domain", "all three"],
)
def test_an_exclusion_lets_exactly_that_through(wall, exclusion, spared, refused):
    wall.change("sqli-union-select", exclusions=[exclusion])

    assert [wall.status(*each) for each in spared] == [200] * len(spared)
    assert [wall.status(*each) for each in refused] == [403] * len(refused)
    assert wall.status("/?q=%3Cscript%3Ealert(1)%3C/script%3E") == 403


def test_a_rule_is_limited_to_a_domain_and_a_path(wall):
    wall.change("sqli-union-select", domain=HOST, path_prefix="/search")

    assert [wall.status(ATTACK), wall.status(ATTACK, OTHER), wall.status(f"/a?q={quote(UNION)}")] == [403, 200, 200]


def test_hits_are_counted_of_blocked_and_of_monitored_requests(wall):
    own = wall.call("POST", "/waf-rules", name="counted", pattern="counted-here", targets=["args"])
    assert (own["hits"], own["last_hit_at"]) == (0, None)

    first, _ = wall.visit("/?q=counted-here")
    wall.change("counted", action="monitor")
    second, decision_id = wall.visit("/?q=counted-here")
    wall.visit("/?q=not-counted")

    assert (first, second) == (403, 200)
    at = wall.logged(decision_id)["at"]
    wait_until(lambda: wall.rule("counted")["hits"] == 2, what="the hits")
    assert wall.rule("counted")["last_hit_at"][:19] == at[:19]


def test_explain_and_test_give_the_same_answer_as_nginx(wall):
    made_up = {"host": HOST, "method": "GET", "uri": ATTACK}

    explained = wall.call("POST", "/policy/explain", client_ip="198.51.100.7", **made_up)
    tried = wall.call("POST", "/waf-rules/test", **made_up)

    assert explained["decision"]["reason"] == "waf-rule"
    (rule,) = waf_step(explained["trace"])["rules"]
    assert (rule["name"], where(rule)) == ("sqli-union-select", [("args", "q", "decoded")])
    (found,) = tried["rules"]
    assert (tried["blocked"], found["name"], found["places"]) == (True, rule["name"], rule["places"])
    assert wall.status(ATTACK) == 403


def test_a_category_is_switched_off_and_on_at_once(wall):
    script = "/?q=%3Cscript%3Ealert(1)%3C/script%3E"
    statuses = []
    for change in ({"action": "monitor"}, {"action": "block"}, {"enabled": False}, {"enabled": True}):
        answer = wall.call("POST", "/waf-rules/batch", category="xss", **change)
        statuses.append(wall.status(script))
        assert answer["changed"] == answer["matched"] > 10

    assert statuses == [200, 403, 200, 403]
