"""`stale_policy` at the gate: decisions under a policy that has not been confirmed for a while."""

import pytest

from gatewall.gate.gate import Dialect, Gate
from gatewall.gate.responses import GuardPage
from gatewall.gate.subrequest import auth
from gatewall.snapshot.confirmed import PolicyAge
from tests.support.cast import (
    BOB,
    NOW,
    OFFICE,
    PROXY,
    TRUSTED,
    a_credential_check,
    a_policy,
    a_ports,
    a_session_token,
    a_subrequest,
)
from tests.support.records import Records

ASKED = {"x_forwarded_for": "1.2.3.4", "x_forwarded_host": OFFICE, "x_forwarded_uri": "/"}
STRICT = {"stale_policy": "strict", "stale_policy_seconds": 60}


class Policies:
    """A source of one policy, or of none."""

    def __init__(self, policy=None):
        self._policy = policy

    def current(self):
        return self._policy


def a_gate(policy, age=None, records=None):
    return Gate(
        Policies(policy),
        a_ports(credentials=a_credential_check()),
        trusted=TRUSTED,
        guard=GuardPage("/wall"),
        clock=lambda: NOW,
        records=Records() if records is None else records,
        age=age,
    )


def check(gate, **headers):
    return gate.check(Dialect(auth), a_subrequest(peer=PROXY, **(ASKED | headers)))


def reason(answer):
    return dict(answer.headers)["X-Gatewall-Reason"]


class Stale:
    """The age of a policy that was confirmed this many seconds ago, or never; records whether it was read."""

    def __init__(self, seconds):
        self._at = None if seconds is None else -float(seconds)
        self.asked = 0

    def __call__(self):
        self.asked += 1
        return self._at

    def gate(self, records=None, **settings):
        policy = a_policy(blocked=["6.6.6.6"], allowed=["9.9.9.9"], **settings)
        return a_gate(policy, PolicyAge(self, clock=lambda: 0.0), records)


@pytest.mark.parametrize(
    "asked",
    [
        {"service_authorization": a_session_token(BOB)},
        {"x_forwarded_for": "9.9.9.9"},
        {"x_forwarded_for": "6.6.6.6"},
        {"x_forwarded_host": "a, b"},
        {},
    ],
    ids=["valid session", "allowlisted", "blocked", "malformed", "nobody"],
)
@pytest.mark.parametrize("seconds", [60.1, None], ids=["for too long", "never"])
def test_in_strict_mode_a_policy_that_was_not_confirmed_decides_about_nobody(asked, seconds):
    answer = check(Stale(seconds).gate(**STRICT), **asked)

    assert (answer.status, reason(answer)) == (503, "cannot-decide")
    assert dict(answer.headers)["Retry-After"] == "1"


def test_in_strict_mode_a_policy_decides_until_its_time_is_over():
    gate = Stale(60).gate(**STRICT)

    assert check(gate, service_authorization=a_session_token(BOB)).status == 200
    assert check(gate, x_forwarded_for="6.6.6.6").status == 403


@pytest.mark.parametrize("seconds", [86_400, None])
def test_in_static_mode_a_policy_of_any_age_decides_and_its_age_is_not_read(seconds):
    age = Stale(seconds)

    assert check(age.gate(), service_authorization=a_session_token(BOB)).status == 200
    assert age.asked == 0


def test_a_refusal_for_an_old_policy_leaves_a_row_that_names_it():
    records = Records()

    check(Stale(61).gate(records, **STRICT))

    (record,) = records.written
    assert (record.status, record.reason, record.outcome) == (503, "cannot-decide", "error")
    assert (record.policy_revision, record.client_ip, record.host) == (1, "1.2.3.4", OFFICE)


def test_a_gate_without_an_age_refuses_in_strict_mode():
    gate = a_gate(a_policy(**STRICT))

    assert check(gate, service_authorization=a_session_token(BOB)).status == 503


@pytest.mark.parametrize(("seconds", "said"), [(15, {}), (16, {"policy": "not confirmed for 16 s"})])
def test_health_shows_how_long_a_policy_was_not_confirmed(seconds, said):
    assert Stale(seconds).gate().alarms() == said


def test_health_of_a_process_without_a_policy_has_no_age():
    assert a_gate(None).alarms() == {}
