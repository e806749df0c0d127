"""The memo of header lines: the same answers and records with and without it, within bounds, and nothing kept."""

import dataclasses
import gc
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.gate import heads, subrequest
from gatewall.gate.application import AuthApplication
from gatewall.gate.gate import Gate
from gatewall.gate.headers import from_lines
from gatewall.gate.heads import Heads
from gatewall.gate.responses import GuardPage
from gatewall.gate.subrequest import Subrequest
from gatewall.kernel.trusted_callers import TrustedCallers
from tests.support.cast import BOB, NOW, OFFICE, TRUSTED, a_credential_check, a_policy, a_ports, a_rule, a_session_token
from tests.support.records import Records
from tests.unit.recorded import Policies

FIXED = [
    (b"Host", b"gate"),
    (b"X-Forwarded-For", b"203.0.113.7"),
    (b"X-Forwarded-For", b"203.0.113.8, 10.0.0.9"),
    (b"X-Forwarded-For", b"nobody"),
    (b"X-Forwarded-Host", OFFICE.encode()),
    (b"x-forwarded-host", b"other.example"),
    (b"X-Forwarded-Host", b"bad host"),
    (b"X-Forwarded-Proto", b"https"),
    (b"X-Forwarded-Proto", b"gopher"),
    (b"X-Forwarded-Method", b"GET"),
    (b"X-Forwarded-Method", b"get"),
    (b"Cookie", b"theme=dark; service.token=" + a_session_token(BOB).encode()),
    (b"Cookie", b"theme=\xff; visitor=attack"),
    (b"service-authorization", b"x.y.z"),
    (b"Authorization", b"Basic Ym9iOmd3Z18x"),
    (b"User-Agent", b"Mozilla/5.0"),
    (b"Accept", b"text/html"),
    (b"X-FORWARDED-URI", b"/other"),
    (b"REFERER", b"https://elsewhere.example/"),
]
VARYING = [
    *(
        (name, uri)
        for name in (b"X-Forwarded-Uri", b"x-forwarded-uri")
        for uri in (b"/", b"/a?q=attack", b"", b"/#x", b"\x01")
    ),
    *((b"Referer", referer) for referer in (b"https://elsewhere.example/?a=attack", b"", b"/x\xff")),
]
lines = st.lists(st.sampled_from([*FIXED, *VARYING]), max_size=10)


def without_memo(heads):
    heads.read = lambda lines, *_: (from_lines(lines), None)
    return heads


@given(
    heads_=st.lists(lines, min_size=1, max_size=3),
    varied=st.lists(st.lists(st.sampled_from(VARYING), max_size=3), max_size=4),
)
def test_a_request_is_parsed_to_the_same_with_and_without(heads_, varied):
    memo = Heads()
    for head, change in itertools.product(heads_, [[], [], *varied, *varied]):
        raw = [*head, *change]
        for dialect in (subrequest.auth, subrequest.forward):
            for peer in ("10.0.0.1", "203.0.113.1", ""):
                fields, known = memo.read(raw, dialect, peer)
                plain = from_lines(raw)

                again = dialect(Subrequest(peer, "http", fields, head=known), TRUSTED, NOW)

                assert fields == plain
                assert again == dialect(Subrequest(peer, "http", plain), TRUSTED, NOW)


class Plane:
    """A data plane whose decisions have numbers instead of random ids."""

    def __init__(self, *, has_memo):
        self.policies, self.records = Policies(None), Records()
        ports = a_ports(country="DE", credentials=a_credential_check())
        clock, guard = (lambda: NOW), GuardPage("/wall")
        gate = Gate(self.policies, ports, trusted=TRUSTED, guard=guard, clock=clock, records=self.records)
        self._application = AuthApplication(gate, self.policies, "/wall", TrustedCallers(TRUSTED, None))
        if not has_memo:
            without_memo(self._application._heads)

    def ask(self, path, raw):
        answer = self._application("GET", path, raw, "10.0.0.1", "http", None)
        record = dataclasses.replace(self.records.written.pop(), decision_id="", latency_us=0)
        hidden = {"X-Gatewall-Decision-Id", "X-Request-Id"}
        return answer.status, [each for each in answer.headers if each[0] not in hidden], record


POLICIES = {
    "in force": lambda: a_policy(users=[BOB], rules=[a_rule("attack", name="attack")]),
    "signed out": lambda: a_policy(users=[BOB], revoked=["session-1"]),
    "deactivated": lambda: a_policy(users=[dataclasses.replace(BOB, is_active=False)]),
    "blocked": lambda: a_policy(users=[BOB], blocked=["203.0.113.0/24"]),
}


@given(
    asked=st.lists(
        st.tuples(st.sampled_from(sorted(POLICIES)), st.integers(0, 3), st.sampled_from(VARYING)), max_size=25
    )
)
def test_answers_and_records_are_the_same_whatever_the_policy_becomes(asked):
    planes = [Plane(has_memo=has_memo) for has_memo in (True, False)]
    visitors = [[*FIXED[0:2], FIXED[4], FIXED[7], FIXED[9], FIXED[number]] for number in (11, 12, 13, 15)]
    for name, visitor, change in asked:
        policy = POLICIES[name]()
        for path in (b"/wall/auth", b"/wall/auth/forward"):
            given_answers = []
            for plane in planes:
                plane.policies.policy = policy
                given_answers.append([plane.ask(path, [*visitors[visitor], change]) for _ in range(2)])

            assert given_answers[0] == given_answers[1]


def test_it_is_used_at_all():
    memo, raw = Heads(), [*FIXED[:2], FIXED[4], VARYING[0]]
    assert [memo.read(raw, 1)[1] is None for _ in range(3)] == [True, False, False]


def test_lines_that_never_come_again_change_neither_its_bounds_nor_what_is_known():
    memo = Heads()
    raw = [FIXED[0], VARYING[0]]
    for number in range(100_000):
        memo.read([(b"Cookie", b"a=%d" % number), VARYING[0]], 1)
        if number % 1000 == 0:
            memo.read(raw, 1)

    assert len(memo._young) + len(memo._old) == 1
    assert len(memo._seen) <= heads._MOST_SEEN


def test_known_heads_are_bounded_in_number_and_length():
    memo = Heads()
    for number in range(3 * heads.MOST):
        for _ in range(2):
            memo.read([(b"Cookie", b"a=%d" % number)], 1)
    long = [(b"Cookie", b"a" * heads.LONGEST)]

    assert len(memo._young) + len(memo._old) <= 2 * heads.MOST
    assert [memo.read(long, 1)[1] for _ in range(3)] == [None] * 3


def test_a_secret_is_gone_after_its_last_use():
    memo, raw = Heads(), [(b"Cookie", b"service.token=secret"), VARYING[0]]
    for _ in range(3):
        memo.read(raw, 1)
    memo.forget()
    assert memo.read(raw, 1)[1] is not None  # used again: kept for a while longer

    memo.forget()
    memo.forget()

    gc.collect()
    assert memo.read(raw, 1)[1] is None
    assert 2 * heads.FORGET_SECONDS <= 300


def test_it_forgets_while_nobody_asks(monkeypatch):
    pauses = iter([None, None])
    monkeypatch.setattr(heads.time, "sleep", lambda _: next(pauses))
    memo = Heads()
    for _ in range(2):
        memo.read([FIXED[0]], 1)

    with pytest.raises(StopIteration):
        memo._forget_regularly()

    assert (memo._young, memo._old) == ({}, {})


def test_address_that_a_peer_without_trust_forwards_stays_ignored():
    heads = Heads()
    seen = []
    for number in range(4):
        lines = [(b"host", b"office.example"), (b"x-forwarded-uri", f"/forged/{number}".encode())]
        fields, head = heads.read(lines, "192.0.2.66")
        seen.append(
            subrequest.auth(Subrequest("192.0.2.66", "http", fields, "GET", "/auth", None, head), TRUSTED, NOW).uri
        )

    assert seen == ["/"] * 4
