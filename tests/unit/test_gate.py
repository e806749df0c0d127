"""The gate as a whole: one subrequest in, one answer out, never an exception and never a 2xx by accident."""

import logging
import os
import uuid

import pytest

from gatewall.engine.model import Reason
from gatewall.engine.ports import Ports
from gatewall.gate.decision_id import new_decision_id
from gatewall.gate.gate import Dialect, Gate
from gatewall.gate.responses import GuardPage
from gatewall.gate.subrequest import auth
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
from tests.support.ports import Broken, Countries, Rates
from tests.support.records import Records

ASKED = {"x_forwarded_for": "1.2.3.4", "x_forwarded_host": OFFICE, "x_forwarded_uri": "/?q=attack"}


class Policies:
    """A source of one policy, of none, or of an error."""

    def __init__(self, policy=None, error=None):
        self._policy, self._error = policy, error

    def current(self):
        if self._error:
            raise self._error
        return self._policy


def a_gate(policies=None, ports=None, records=None):
    ports = ports or a_ports(credentials=a_credential_check())
    return Gate(
        policies or Policies(a_policy()),
        ports,
        trusted=TRUSTED,
        guard=GuardPage("/wall"),
        clock=lambda: NOW,
        records=Records() if records is None else records,
    )


def check(gate, dialect=auth, **headers):
    return gate.check(Dialect(dialect), a_subrequest(peer=PROXY, **(ASKED | headers)))


def reason(answer):
    return dict(answer.headers)["X-Gatewall-Reason"]


def broken(*_):
    raise RuntimeError("a fault of our own")


def test_valid_session_is_let_in():
    answer = check(a_gate(), service_authorization=a_session_token(BOB))

    assert (answer.status, reason(answer)) == (200, "session-valid")
    assert dict(answer.headers)["Remote-User"] == "Bob"


def test_a_request_without_a_credential_is_challenged():
    answer = check(a_gate())

    assert (answer.status, reason(answer)) == (401, "credential-missing")


def test_malformed_request_is_refused():
    answer = check(a_gate(), x_forwarded_host="a, b")

    assert (answer.status, reason(answer)) == (403, "request-malformed")


def test_without_a_policy_nobody_is_let_in():
    answer = check(a_gate(Policies(None)), service_authorization=a_session_token(BOB))

    assert (answer.status, reason(answer)) == (503, "cannot-decide")


@pytest.mark.parametrize("policies", [Policies(None), Policies(error=RuntimeError("a fault of our own"))])
def test_browser_of_a_gate_that_cannot_decide_gets_a_page(policies):
    asked = a_subrequest(peer=PROXY, accept="text/html", **ASKED)
    gate = a_gate(policies)

    page, bare = (gate.check(Dialect(auth, answers_browsers=shown), asked) for shown in (True, False))

    assert (page.status, bare.status, bare.body) == (503, 503, b"")
    assert dict(page.headers)["X-Gatewall-Decision-Id"].encode() in page.body


def test_missing_policy_is_not_logged_as_a_fault(caplog):
    check(a_gate(Policies(None)))

    assert caplog.records == []


@pytest.mark.parametrize("error", [RuntimeError(), OSError(), KeyError("x"), RecursionError(), MemoryError()])
def test_an_error_of_the_policy_source_lets_nobody_in(error):
    answer = check(a_gate(Policies(error=error)), service_authorization=a_session_token(BOB))

    assert (answer.status, reason(answer)) == (503, "cannot-decide")


@pytest.mark.parametrize("port", ["countries", "credentials", "rates"])
def test_port_that_fails_lets_nobody_in(port):
    working = {"countries": Countries(), "credentials": a_credential_check(), "rates": Rates()}
    ports = Ports(**(working | {port: Broken()}))
    gate = a_gate(Policies(a_policy(request_rate_per_minute=1)), ports)

    answer = check(gate, service_authorization=a_session_token(BOB))

    assert (answer.status, reason(answer)) == (503, "cannot-decide")


@pytest.mark.parametrize(
    "policy", [a_policy(allowed=["1.2.3.4"]), a_policy(domains={OFFICE: "public"})], ids=["allowed", "public"]
)
def test_a_fault_refuses_even_clients_that_need_no_credential(policy):
    gate = a_gate(Policies(policy), a_ports(credentials=Broken()))

    assert check(gate, service_authorization="x").status == 503


def test_fault_of_our_own_lets_nobody_in():
    assert check(a_gate(), broken).status == 503


def test_fault_of_our_own_is_logged_with_the_decision_id(caplog):
    with caplog.at_level(logging.ERROR):
        answer = check(a_gate(), broken)

    (record,) = caplog.records
    assert record.exc_info
    assert record.decision_id == dict(answer.headers)["X-Gatewall-Decision-Id"]


def test_refusal_is_no_fault(caplog):
    check(a_gate(), x_forwarded_host="a, b")

    assert caplog.records == []


@pytest.mark.parametrize(
    "gate", [a_gate(), a_gate(Policies(None)), a_gate(Policies(error=RuntimeError()))], ids=["policy", "none", "broken"]
)
@pytest.mark.parametrize("header", [{}, {"x_forwarded_host": "a, b"}, {"service_authorization": a_session_token(BOB)}])
def test_every_answer_has_an_id_and_a_reason(gate, header):
    headers = dict(check(gate, **header).headers)

    assert uuid.UUID(headers["X-Gatewall-Decision-Id"]).version == 7
    assert headers["X-Gatewall-Reason"] in set(Reason)


def test_each_answer_has_its_own_id():
    gate = a_gate()

    assert len({dict(check(gate).headers)["X-Gatewall-Decision-Id"] for _ in range(50)}) == 50


def test_the_time_of_the_request_comes_from_the_clock():
    seen = []

    def dialect(subrequest, trusted, at):
        seen.append(at)
        return auth(subrequest, trusted, at)

    check(a_gate(), dialect)

    assert seen == [NOW]


# Decision ids.


def test_decision_id_is_a_uuid_of_version_7():
    identifier = uuid.UUID(new_decision_id(NOW))

    assert (identifier.version, identifier.variant) == (7, uuid.RFC_4122)


def test_decision_id_begins_with_its_moment():
    assert uuid.UUID(new_decision_id(NOW + 0.25)).int >> 80 == int(NOW * 1000) + 250


def test_decision_ids_sort_by_time():
    ids = [new_decision_id(NOW + milliseconds / 1000) for milliseconds in range(100)]

    assert ids == sorted(ids)


def test_decision_ids_of_one_moment_differ_in_all_their_random_bits():
    numbers = [uuid.UUID(new_decision_id(NOW)).int for _ in range(200)]
    varying = 0
    for number in numbers:
        varying |= number ^ numbers[0]

    assert varying.bit_count() == 74


def test_a_forked_process_gives_no_decision_id_that_its_parent_gives():
    new_decision_id(NOW)  # from now on random parts for many ids are in memory
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.write(theirs, "\n".join([new_decision_id(NOW) for _ in range(200)]).encode())
        os._exit(0)
    os.waitpid(child, 0)

    told = os.read(ours, 65_536).decode().split("\n")
    os.close(ours)
    os.close(theirs)

    assert len({*told, *[new_decision_id(NOW) for _ in range(200)]}) == 400


def test_every_answer_leaves_its_record():
    records = Records()
    gate = a_gate(records=records)

    answers = [check(gate), check(gate, x_forwarded_host="a, b"), check(gate, broken)]

    assert [record.decision_id for record in records.written] == [
        dict(answer.headers)["X-Gatewall-Decision-Id"] for answer in answers
    ]
    assert [record.reason for record in records.written] == ["credential-missing", "request-malformed", "cannot-decide"]


@pytest.mark.parametrize(("accept", "status"), [("text/html", 302), ("*/*", 401)])
def test_record_has_the_status_that_the_browser_got(accept, status):
    records = Records()

    answer = a_gate(records=records).check(Dialect(auth, answers_browsers=True), a_subrequest(**ASKED, accept=accept))

    assert [record.status for record in records.written] == [answer.status] == [status]
