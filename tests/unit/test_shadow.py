"""A shadow policy: its verdict is recorded if it differs, and it changes no answer."""

from itertools import count

import pytest

from gatewall.engine.model import Effect
from gatewall.gate.gate import Dialect, Gate
from gatewall.gate.responses import GuardPage
from gatewall.gate.shadow import MOST_WAITING, Shadow, ShadowPolicy
from gatewall.gate.subrequest import auth, forward
from gatewall.kernel.request_rate import RequestRateView, SharedRequestRate
from tests.support.cast import (
    BOB,
    NOW,
    OFFICE,
    PROXY,
    TRUSTED,
    a_credential_check,
    a_policy,
    a_ports,
    a_rule,
    a_session_token,
    a_subrequest,
)
from tests.support.ports import Broken
from tests.support.records import Records
from tests.unit.recorded import Policies

OPEN = {OFFICE: "public"}
CLOSED = {OFFICE: "denied"}
ASKED = {"x_forwarded_for": "1.2.3.4", "x_forwarded_host": OFFICE, "x_forwarded_uri": "/"}


class Amendments:
    def __init__(self):
        self.written = {}

    def amend(self, decision_id, at, shadow):
        self.written[decision_id] = (at, shadow)
        return True


class Plane:
    """A gate with a shadow policy, in memory; without a budget unless ``cpu_percent`` is given."""

    def __init__(self, live, shadow=None, *, percent=100, cpu_percent=10_000, ports=None, read_only=None, cpu=None):
        self.records, self.amendments = Records(), Amendments()
        ports = ports or a_ports(credentials=a_credential_check())
        ticks = count()
        self.shadow = Shadow(ports, read_only or ports, self.amendments, cpu or (lambda: next(ticks) * 1e-3))
        if shadow is not None:
            self.shadow.use(ShadowPolicy("one", shadow, percent, cpu_percent))
            self.shadow._saved = 0.1
        self.gate = Gate(
            Policies(live),
            ports,
            trusted=TRUSTED,
            guard=GuardPage("/wall"),
            clock=lambda: NOW,
            records=self.records,
        )
        self.gate.shadow = self.shadow

    def ask(self, dialect=auth, *, body=None, **headers):
        subrequest = a_subrequest(peer=PROXY, **(ASKED | headers))
        subrequest = type(subrequest)(subrequest.peer, subrequest.scheme, subrequest.headers, body=body)
        return self.gate.check(Dialect(dialect), subrequest)

    def work(self):
        while self.shadow.work():
            pass
        return self.amendments.written


def plain(answer):
    """Return an answer without its decision id."""
    ids = {"X-Gatewall-Decision-Id", "X-Request-Id"}
    return answer.status, [each for each in answer.headers if each[0] not in ids], answer.body


def test_a_different_verdict_is_recorded_after_the_answer():
    plane = Plane(a_policy(domains=OPEN), a_policy(domains=CLOSED))

    answer = plane.ask()

    assert (answer.status, plane.amendments.written) == (200, {})
    (record,) = plane.records.read
    denied = {"effect": "deny", "reason": "host-not-authorized", "decided_by": {"kind": "authorized-domains", "id": 1}}
    assert plane.work() == {record.decision_id: (NOW, denied)}
    assert (plane.shadow.figures.evaluated, plane.shadow.figures.differing) == (1, 1)


def test_an_equal_verdict_is_not_recorded():
    plane = Plane(a_policy(domains=OPEN), a_policy(domains=OPEN))
    plane.ask()

    assert plane.work() == {}
    assert (plane.shadow.figures.evaluated, plane.shadow.figures.differing) == (1, 0)


@pytest.mark.parametrize("headers", [{}, {"service_authorization": a_session_token(BOB)}, {"x_forwarded_uri": "\0"}])
def test_answers_are_the_same_with_and_without_a_shadow(headers):
    live, shadow = a_policy(domains={OFFICE: "authenticated"}), a_policy(domains=CLOSED)

    assert plain(Plane(live, shadow).ask(**headers)) == plain(Plane(live).ask(**headers))


@pytest.mark.parametrize(
    ("rule", "headers", "body"),
    [
        (a_rule("attack", targets=("headers",)), {"x_odd": "attack"}, None),
        (a_rule("attack", targets=("cookies",)), {"cookie": "a=attack"}, None),
    ],
    ids=["header", "cookie"],
)
def test_the_shadow_inspects_parts_that_are_not_logged(rule, headers, body):
    plane = Plane(a_policy(domains=OPEN), a_policy(domains=OPEN, rules=[rule]))
    plane.ask(body=body, **headers)

    ((_at, shadow),) = plane.work().values()

    assert (shadow["effect"], shadow["reason"]) == ("deny", "waf-rule")


def test_differences_are_those_of_evaluating_both_policies():
    live, shadow = a_policy(domains=OPEN), a_policy(domains={OFFICE: "authenticated"})
    plane = Plane(live, shadow)
    credentials = [{}, {"service_authorization": a_session_token(BOB)}, {"service_git_token": "no"}] * 10
    for each in credentials:
        plane.ask(**each)
        plane.work()

    written = plane.work()
    direct = Plane(shadow)
    for each in credentials:
        direct.ask(**each)

    def verdicts(records):
        return [(record.outcome, record.reason, record.decided_by) for record in records]

    pairs = zip(plane.records.read, verdicts(plane.records.read), verdicts(direct.records.read), strict=True)
    expected = {record.decision_id: theirs for record, ours, theirs in pairs if theirs != ours}
    assert {key: tuple(found.values()) for key, (_at, found) in written.items()} == expected
    assert len(expected) == 30


@pytest.mark.parametrize("percent", [1, 20, 100])
def test_a_share_of_the_decision_ids_is_selected(percent):
    shadow = ShadowPolicy("one", a_policy(), percent, 25)
    ids = [f"019cebab-8748-7000-8000-0000{number * 2654435761 % 2**32:08x}" for number in range(10_000)]

    chosen = [each for each in ids if shadow.selects(each)]

    assert abs(len(chosen) - 100 * percent) <= 60
    assert chosen == [each for each in ids if shadow.selects(each)]


def test_a_percent_of_the_requests_is_evaluated():
    plane = Plane(a_policy(domains=OPEN), a_policy(domains=CLOSED), percent=50)
    for _ in range(400):
        plane.ask()
        plane.work()

    figures = plane.shadow.figures
    assert 120 < figures.selected == figures.evaluated < 280
    assert figures.answers == 400


class Cpu:
    """A CPU clock: an answer costs one millisecond, an evaluation ten."""

    def __init__(self):
        self.now, self.step = 0.0, 0.0

    def __call__(self):
        self.now += self.step
        return self.now


def test_evaluating_takes_at_most_its_share_of_the_cpu_time_of_answering():
    cpu = Cpu()
    plane = Plane(a_policy(domains=OPEN), a_policy(domains=CLOSED), cpu=cpu, cpu_percent=25)
    plane.shadow._saved = 0.0
    for _ in range(1000):
        cpu.step = 0.001
        plane.ask()
        cpu.step = 0.01
        plane.work()

    figures = plane.shadow.figures
    assert 0 < figures.shadow_seconds <= 0.25 * figures.answer_seconds + 0.01
    assert figures.selected == 1000
    assert figures.evaluated + figures.skipped == 1000
    assert figures.evaluated == pytest.approx(25, abs=2)


def test_requests_that_wait_are_bounded():
    plane = Plane(a_policy(domains=OPEN), a_policy(domains=CLOSED))
    for _ in range(MOST_WAITING + 10):
        plane.ask()

    assert len(plane.work()) == MOST_WAITING
    assert plane.shadow.figures.skipped == 10


def test_a_fault_of_the_shadow_is_reported_and_changes_no_answer(caplog):
    plane = Plane(a_policy(domains={OFFICE: "authenticated"}), a_policy(), read_only=broken_ports())

    answer = plane.ask(service_authorization=a_session_token(BOB))

    assert (answer.status, plane.work()) == (200, {})
    assert (plane.shadow.fault, plane.shadow.figures.faults) == ("RuntimeError", 1)
    assert "shadow evaluation failed" in caplog.text
    assert plane.ask(service_authorization=a_session_token(BOB)).status == 200


def broken_ports():
    broken = Broken()
    return a_ports(credentials=broken, countries=broken, rates=broken)


def test_the_shadow_counts_no_request_rate(tmp_path):
    rates = SharedRequestRate(tmp_path / "rates")
    ports = a_ports(rates=rates)
    read_only = a_ports(rates=RequestRateView(rates))
    live = a_policy(domains=OPEN, request_rate_per_minute=3)
    shadow = a_policy(domains=OPEN, request_rate_per_minute=2)
    plane = Plane(live, shadow, ports=ports, read_only=read_only)

    statuses = []
    for _ in range(4):
        statuses.append(plane.ask().status)
        plane.work()

    reasons = [plane.amendments.written.get(each.decision_id) for each in plane.records.read]
    assert statuses == [200, 200, 200, 403]
    assert [each and each[1]["reason"] for each in reasons] == [None, None, "client-rate-limited", None]


def test_an_equal_limit_is_answered_as_the_live_decision_was(tmp_path):
    rates = SharedRequestRate(tmp_path / "rates")
    policy = a_policy(domains=OPEN, request_rate_per_minute=3)
    plane = Plane(policy, policy, ports=a_ports(rates=rates), read_only=a_ports(rates=RequestRateView(rates)))
    for _ in range(5):  # all of them before the first is evaluated
        plane.ask()

    assert plane.work() == {}
    assert plane.shadow.figures.evaluated == 5


def test_a_decision_under_another_version_is_not_compared():
    plane = Plane(a_policy(domains=OPEN, version=2), a_policy(domains=CLOSED, version=1))
    plane.ask()

    assert plane.work() == {}
    assert (plane.shadow.figures.behind, plane.shadow.figures.evaluated) == (1, 0)


def test_an_undecided_request_is_not_compared():
    plane = Plane(None, a_policy(domains=CLOSED))

    assert plane.ask().status == Effect.ERROR.status
    assert plane.work() == {}


def test_a_removed_shadow_evaluates_nothing_more():
    plane = Plane(a_policy(domains=OPEN), a_policy(domains=CLOSED))
    plane.ask()
    plane.shadow.use(None)

    assert plane.work() == {}
    plane.ask()
    assert (plane.work(), plane.shadow.figures.answers) == ({}, 1)


def test_another_shadow_starts_new_figures():
    plane = Plane(a_policy(domains=OPEN), a_policy(domains=CLOSED))
    plane.ask()
    plane.shadow.use(ShadowPolicy("two", a_policy(domains=OPEN), 100, 25))

    assert plane.work() == {}
    assert (plane.shadow.figures.shadow, plane.shadow.figures.answers) == ("two", 0)


def test_the_callback_is_registered_once():
    plane, asked = Plane(a_policy(domains=OPEN), a_policy(domains=CLOSED)), []
    plane.shadow.work_by(asked.append)
    plane.ask()
    plane.ask(forward)

    assert len(asked) == 1
    asked.pop()()  # evaluates one, and asks to be called again for the other
    assert len(asked) == 1
    asked.pop()()
    assert (asked, plane.shadow.figures.evaluated) == ([], 2)
