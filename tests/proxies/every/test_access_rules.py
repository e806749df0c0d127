"""Access rules through real proxies: one table of requests, repeated by explain and by replay of the log."""

import time

import pytest

from gatewall.engine.users import UserState
from tests.proxies.every import rule_table
from tests.proxies.every.asking import lines_of, raw
from tests.proxies.every.kinds import KINDS
from tests.support.cast import a_session_token
from tests.support.processes import PASSWORD, configuration, send, token_of, wait_until

ROWS = rule_table.rows()
ASKED = ("nginx", "Traefik", "Envoy")
NAMED = {"path-public", "access-denied", "client-rate-limited", "second-factor-required", "phishing-resistant-required"}
"""The reasons of decisions by a rule."""
ATTACK = b"GET /pub?id=1%27%20UNION%20SELECT%20password%20FROM%20users-- HTTP/1.1"
UNKNOWN_PREFLIGHT = {row for row in ROWS if row.method == "OPTIONS" and row.path == "/api/items"}
"""The log lacks the headers that distinguish a preflight from another OPTIONS."""


class Policy:
    """The policy of the table in a running installation."""

    def __init__(self, wall):
        self.control, self.home = wall.behind.control, wall.home
        self.token, self.now, self.records = token_of(self.control), time.time(), {}
        for name, access in rule_table.DOMAINS.items():
            self.make("/authorized-domains", name=name, access=access)
        for name, scope in rule_table.GROUPS.items():
            self.make("/groups", name=name, **scope)
        self.users = {
            name: self.make("/users", username=name, password=PASSWORD, **values)["id"]
            for name, values in rule_table.USERS.items()
        }
        self.git_tokens = {
            name: self.make(f"/users/{user_id}/git-tokens", name="table", password=PASSWORD)["token"]
            for name, user_id in self.users.items()
        }
        self.license = self.make("/licenses", name="table", password=PASSWORD)["token"]
        self.rules = {rule["name"]: self.make("/access-rules", **rule)["id"] for rule in rule_table.rules()}
        self.names = {row_id: name for name, row_id in self.rules.items()} | {None: None}

    def make(self, path, **fields):
        return send(self.control, self.token, "POST", path, fields)

    def get(self, path):
        return send(self.control, self.token, "GET", path)

    def name_of(self, decided_by):
        """Return the name of the rule that decided by a record, or None."""
        return self.names[decided_by["id"]] if decided_by and decided_by["kind"] == "access-rules" else None

    def has_recorded(self, identifiers):
        """Look up the rows of these decisions; return whether all are recorded."""
        for host in {row.host for row in ROWS}:
            rows = self.get(f"/access-logs?host={host}&page_size=200")["results"]
            self.records |= {row["decision_id"]: row for row in rows}
        return self.records.keys() >= set(identifiers)

    def credential(self, who):
        """Return the credential headers of a row: a session with these factors, a git token, a license, or none."""
        name, _, factor = who.partition("+")
        if who == "-":
            return {}
        if who == "forged":
            return {"Service-Authorization": "e30.e30.x"}
        if who == "license":
            return {"Service-License": self.license}
        if who.endswith("/git"):
            name = who.removesuffix("/git")
            return {"Service-Git-Token": f"{name}:{self.git_tokens[name]}"}
        user = UserState(self.users[name], name, "", False, True, 1, False, frozenset())
        key = configuration(self.home).jwt_keys.signing
        times = {"iat": int(self.now) - 60, "nbf": int(self.now) - 60, "exp": int(self.now) + 3600}
        token = a_session_token(user, key=key, amr=rule_table.FACTORS[factor], jti=f"table-{who}", **times)
        return {"Service-Authorization": token}


def address(row, number):
    """Return the address of a row's visitor; each proxy has its own visitors, so that rates are separate."""
    return f"{row.network}.{number}.1"


@pytest.fixture(scope="module")
def policy(wall):
    """Return the policy in force; the WAF only monitors, since it would refuse odd paths before any rule."""
    port = wall["nginx"].port
    made = Policy(wall)
    send(made.control, made.token, "PUT", "/system/settings", {"waf_mode": "monitor"})
    wait_until(lambda: raw(port, ATTACK, lines_of(port, {"Host": "a.wild.example"})).status == 200, what="the policy")
    yield made
    send(made.control, made.token, "PUT", "/system/settings", {"waf_mode": "block"})
    wait_until(lambda: raw(port, ATTACK, lines_of(port, {"Host": "a.wild.example"})).status == 403, what="the firewall")


@pytest.fixture(scope="module", params=ASKED)
def asked(request, wall, policy):
    """Return the table's requests as a proxy's visitors sent them: number of the proxy, and an id for each row."""
    front, number = wall[request.param], list(KINDS).index(request.param) + 1
    return number, [asking(front, policy, row, number) for row in ROWS]


def asking(front, policy, row, number):
    """Send a row's request, repeatedly if it tests a rate; return status and decision id."""
    lines = lines_of(front.port, {"Host": row.host} | row.headers | policy.credential(row.who))
    if row.method == "POST":
        lines.append(b"Content-Length: 0")
    for _ in range(3 if row.answer[1] == "client-rate-limited" else 1):
        before = len(front.site.requests)
        answer = raw(front.port, f"{row.method} {row.path} HTTP/1.1".encode(), lines, source=address(row, number))
    reached = len(front.site.requests) > before
    assert reached == (answer.status == 200), row
    # Traefik sends the id of a 200 to the site alone.
    return answer.status, front.site.last["X-Gatewall-Decision-Id"] if reached else answer.header(
        "X-Gatewall-Decision-Id"
    )


def differences(found):
    """Return the rows with an unexpected answer, with both answers."""
    return {
        str(row): (each, (*row.answer, row.rule))
        for row, each in zip(ROWS, found, strict=True)
        if each != (*row.answer, row.rule)
    }


def test_status_reason_and_rule_through_the_proxy(policy, asked):
    wait_until(lambda: policy.has_recorded(identifier for _, identifier in asked[1]), what="the rows of the log")
    found = []
    for (status, identifier), row in zip(asked[1], ROWS, strict=True):
        record = policy.records[identifier]
        # If a credential decides, only an explanation names the rule that requires it.
        rule = policy.name_of(record["decided_by"]) if record["reason"] in NAMED else row.rule
        found.append((status, record["reason"], rule))

    assert differences(found) == {}


def test_status_reason_and_rule_by_explain(policy, asked):
    number, _ = asked
    found = []
    for row in ROWS:
        sample = {"client_ip": address(row, number), "host": row.host, "method": row.method, "uri": row.path}
        headers = {**row.headers, **policy.credential(row.who)}
        answer = policy.make("/policy/explain", **sample, scheme="http", headers=headers)
        decision, access = answer["decision"], answer["access"]
        rule = None if row.answer[1] == "host-not-authorized" else policy.names[access["rule"]]
        found.append((decision["status"], decision["reason"], rule))

    assert differences(found) == {}


def test_status_reason_and_rule_by_replay_of_the_log(policy, asked):
    wait_until(lambda: policy.has_recorded(identifier for _, identifier in asked[1]), what="the rows of the log")
    found, unknown = [], set()
    for (_, identifier), row in zip(asked[1], ROWS, strict=True):
        again = policy.get(f"/access-logs/{identifier}?again=true")["again"]
        if again["undecidable"]:
            unknown.add((row, again["undecidable"]))
            found.append((*row.answer, row.rule))
        else:
            rule = None if row.answer[1] == "host-not-authorized" else policy.names[again["access"]["rule"]]
            found.append((again["decision"]["status"], again["decision"]["reason"], rule))

    assert differences(found) == {}
    assert unknown == {(row, "headers") for row in UNKNOWN_PREFLIGHT}


@pytest.mark.parametrize("asked", ["nginx"], indirect=True)
def test_backtest_of_a_rule_changes_the_requests_that_it_decided(policy, asked):
    _, sent = asked
    wait_until(lambda: policy.has_recorded(identifier for _, identifier in sent), what="the rows of the log")
    draft = {"resource": "access-rules", "change": "update", "id": policy.rules["webhook"]}
    run = policy.make("/policy/backtest", **draft, values={"access": "denied"})
    wait_until(lambda: policy.get(f"/policy/backtest/{run['id']}")["state"] == "finished", what="the backtest")
    result = policy.get(f"/policy/backtest/{run['id']}")["result"]

    ours = {identifier for (_, identifier), row in zip(sent, ROWS, strict=True) if row.rule == "webhook"}
    decided = [record for record in policy.records.values() if policy.name_of(record["decided_by"]) == "webhook"]
    assert ours <= {record["decision_id"] for record in decided}
    (change,) = result["changes"]["results"]
    assert (change["from"]["reason"], change["to"]["reason"], change["count"]) == (
        *("path-public", "access-denied", len(decided)),
    )
