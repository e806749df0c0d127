"""The memo of heads: equal answers and records with and without it, bounded memory, and no kept secrets."""

import dataclasses
import gc
import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.spool.records import AccessRecord
from gatewall.gate import bodies, subrequest
from gatewall.gate.application import AuthApplication
from gatewall.gate.gate import Gate
from gatewall.gate.headers import from_lines
from gatewall.gate.meaning import Meaning
from gatewall.gate.responses import GuardPage
from gatewall.gate.subrequest import Subrequest
from gatewall.kernel.trusted_callers import TrustedCallers
from gatewall.server import heads
from gatewall.server.heads import Heads, RememberingReader
from gatewall.server.http1 import Request, RequestReader
from tests.support.cast import BOB, NOW, OFFICE, TRUSTED, a_credential_check, a_policy, a_ports, a_rule, a_session_token
from tests.support.records import Records
from tests.unit.recorded import Policies

FIXED = [
    b"Host: gate",
    b"X-Forwarded-For: 203.0.113.7",
    b"X-Forwarded-For: 203.0.113.8, 10.0.0.9",
    b"X-Forwarded-For: nobody",
    b"X-Forwarded-Host: " + OFFICE.encode(),
    b"x-forwarded-host: other.example",
    b"X-Forwarded-Host: bad host",
    b"X-Forwarded-Proto: https",
    b"X-Forwarded-Proto: gopher",
    b"X-Forwarded-Method: GET",
    b"X-Forwarded-Method: get",
    b"Cookie: theme=dark; service.token=" + a_session_token(BOB).encode(),
    b"Cookie: theme=\xff; visitor=attack",
    b"service-authorization: x.y.z",
    b"Authorization: Basic Ym9iOmd3Z18x",
    b"User-Agent: Mozilla/5.0",
    b"Accept: text/html",
    b"X-FORWARDED-URI: /other",
    b"REFERER: https://elsewhere.example/",
    b"Connection: close",
    b"Content-Length: 0",
    b"Transfer-Encoding: chunked",
    b"Upgrade: websocket",
    b" folded",
    b"no colon",
]
VARYING = [
    *(
        name + uri
        for name in (b"X-Forwarded-Uri:", b"x-forwarded-uri: ")
        for uri in (b"/", b" /a?q=attack", b" ", b" /#x", b" \x01", b" /a\t", b"  /b ", b" /c\r\n /d", b" /e\n/f")
    ),
    *(b"Referer: " + referer for referer in (b"https://elsewhere.example/?a=attack", b"", b"/x\xff", b"a\tb")),
    *(b"If-None-Match: " + tag for tag in (b'"1"', b"<attack>")),
    *(b"Accept: " + value for value in (b"text/html", b"*/*", b"<attack>")),
    b"sec-fetch-mode: navigate",
    b"Sec-Fetch-Dest: image",
    b"Sec-Fetch-Site: cross-site",
    b"Priority: u=1, i",
    b"range: bytes=0-",
    b"if-modified-since: Sat, 28 Nov 2026 00:00:00 GMT",
]
DIALECTS = {b"/wall/auth": subrequest.auth, b"/wall/auth/forward": subrequest.forward}
lines = st.lists(st.sampled_from([*FIXED, *VARYING]), max_size=10)


def a_head(lines, path=b"/wall/auth"):
    return b"\r\n".join([b"GET " + path + b" HTTP/1.1", *lines, b"", b""])


def read(memo, raw, peer=""):
    reader = RequestReader(bodies.bounds) if memo is None else RememberingReader(bodies.bounds, memo, peer)
    reader.feed(raw)
    found = reader.next()
    assert not (isinstance(found, Request) and reader.has_more)
    return found


def known(memo, lines, peer=""):
    return read(memo, a_head(lines), peer).head


@given(
    heads_=st.lists(lines, min_size=1, max_size=3),
    varied=st.lists(st.lists(st.sampled_from(VARYING), max_size=3), max_size=4),
)
def test_requests_are_parsed_alike_with_and_without_the_memo(heads_, varied):
    memo = Heads()
    for head, change in itertools.product(heads_, [[], [], *varied, *varied]):
        for path, dialect in DIALECTS.items():
            raw = a_head([*head, *change], path)
            plain = read(None, raw)
            for peer in ("10.0.0.1", "203.0.113.1", ""):
                again = read(memo, raw, peer)
                if not isinstance(plain, Request):
                    assert again == plain
                    continue

                assert again._replace(head=None) == plain
                meaning = None
                if again.head is not None:
                    meaning = again.head.meaning = again.head.meaning or Meaning(again.head)
                    assert meaning.headers(again.lines) == from_lines(plain.lines)
                fields = from_lines(plain.lines)
                assert dialect(Subrequest(peer, "http", fields, meaning=meaning), TRUSTED, NOW) == dialect(
                    Subrequest(peer, "http", fields), TRUSTED, NOW
                )


@given(
    heads_=st.lists(lines, min_size=1, max_size=3),
    varied=st.lists(st.tuples(st.integers(0, 2), st.lists(st.sampled_from(VARYING), max_size=3)), max_size=12),
)
def test_a_connection_reads_each_head_as_a_new_connection_does(heads_, varied):
    memo = Heads()
    reader = RememberingReader(bodies.bounds, memo, "")
    for number, change in [(0, []), (0, []), *varied]:
        raw = a_head([*heads_[number % len(heads_)], *change])
        plain = read(None, raw)
        reader.feed(raw)
        again = reader.next()
        if isinstance(plain, Request):
            assert isinstance(again, Request)
            assert again._replace(head=None) == plain
            assert list(again.lines) == plain.lines
        else:
            assert again == plain
            reader = RememberingReader(bodies.bounds, memo, "")


class Plane:
    """A data plane whose decisions have sequential numbers instead of random ids."""

    def __init__(self, *, has_memo):
        self.policies, self.records = Policies(None), Records()
        ports = a_ports(country="DE", credentials=a_credential_check())
        clock, guard = (lambda: NOW), GuardPage("/wall")
        gate = Gate(self.policies, ports, trusted=TRUSTED, guard=guard, clock=clock, records=self.records)
        self._application = AuthApplication(gate, self.policies, "/wall", TrustedCallers(TRUSTED, None))
        self._memo = Heads() if has_memo else None

    def ask(self, path, lines):
        request = read(self._memo, a_head(lines, path), "10.0.0.1")
        answer = self._application("GET", path, request.lines, "10.0.0.1", "http", None, request.head)
        record = AccessRecord.from_bytes(self.records.written.pop().to_bytes())
        record = dataclasses.replace(record, decision_id="", latency_us=0)
        hidden = {"X-Gatewall-Decision-Id", "X-Request-Id"}
        return answer.status, [each for each in answer.headers if each[0] not in hidden], record


READABLE = [line for line in VARYING if isinstance(read(None, a_head([line])), Request)]
POLICIES = {
    "in force": lambda: a_policy(users=[BOB], rules=[a_rule("attack", name="attack")]),
    "signed out": lambda: a_policy(users=[BOB], revoked=["session-1"]),
    "deactivated": lambda: a_policy(users=[dataclasses.replace(BOB, is_active=False)]),
    "blocked": lambda: a_policy(users=[BOB], blocked=["203.0.113.0/24"]),
}


@pytest.mark.no_cover
@given(
    asked=st.lists(
        st.tuples(st.sampled_from(sorted(POLICIES)), st.integers(0, 3), st.sampled_from(READABLE)), max_size=25
    )
)
def test_answers_and_records_are_the_same_after_every_change_of_policy(asked):
    planes = [Plane(has_memo=has_memo) for has_memo in (True, False)]
    visitors = [[*FIXED[0:2], FIXED[4], FIXED[7], FIXED[9], FIXED[number]] for number in (11, 12, 13, 15)]
    for name, visitor, change in asked:
        policy = POLICIES[name]()
        for path in DIALECTS:
            given_answers = []
            for plane in planes:
                plane.policies.policy = policy
                given_answers.append([plane.ask(path, [*visitors[visitor], change]) for _ in range(2)])

            assert given_answers[0] == given_answers[1]


@pytest.mark.parametrize("length", [b"0", b"00", b"000"])
def test_a_body_that_is_announced_and_empty_is_judged_the_same_each_time(length):
    planes = [Plane(has_memo=has_memo) for has_memo in (True, False)]
    for plane in planes:
        plane.policies.policy = POLICIES["in force"]()
    visitor = [*FIXED[0:2], FIXED[4], b"X-Forwarded-Method: POST", VARYING[1], b"Content-Length: " + length]

    for _ in range(4):
        with_memo, without = (plane.ask(b"/wall/auth/forward", visitor) for plane in planes)
        assert with_memo == without


def test_a_repeated_head_is_answered_from_the_memo():
    memo, raw = Heads(), [*FIXED[:2], FIXED[4], VARYING[1]]
    assert [known(memo, raw) is None for _ in range(3)] == [True, False, False]


def test_lines_that_never_repeat_neither_grow_nor_empty_the_memo():
    memo = Heads()
    for number in range(100_000):
        memo.admits(("", b"a=%d" % number))
        if number % 1000 == 0:
            known(memo, [FIXED[0], VARYING[1]])

    assert len(memo._young) + len(memo._old) == 1
    assert len(memo._seen) <= heads._MOST_SEEN


def test_known_heads_are_bounded_in_number_and_length():
    memo = Heads()
    for number in range(3 * heads.MOST):
        for _ in range(2):
            known(memo, [b"Cookie: a=%d" % number])

    assert len(memo._young) + len(memo._old) <= 2 * heads.MOST
    assert [known(memo, [b"Cookie: " + b"a" * heads.LONGEST]) for _ in range(3)] == [None] * 3


def test_a_secret_is_forgotten_some_time_after_its_last_use():
    memo, raw = Heads(), [b"Cookie: service.token=secret", VARYING[1]]
    for _ in range(3):
        known(memo, raw)
    memo.forget()
    assert known(memo, raw) is not None  # used again: kept for a while longer

    memo.forget()
    memo.forget()

    gc.collect()
    assert known(memo, raw) is None
    assert 2 * heads.FORGET_SECONDS <= 300


def test_the_memo_forgets_and_reports_without_requests(monkeypatch):
    memo, asked, reported = Heads(), [], []
    turns = iter(range(round(2 * heads.FORGET_SECONDS / 10)))

    def sleep(_):
        if next(turns) == 1:
            asked.extend(known(memo, [FIXED[0]]) for _ in range(3))

    def report(figures):
        reported.append(figures)
        if len(reported) == 1:
            raise OSError("the disk is full")

    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(StopIteration):
        memo._forget_regularly(report)

    assert (memo._young, memo._old) == ({}, {})
    size = len(a_head([FIXED[0]]))
    then = {"hits": 1, "misses": 2, "number": 1, "bytes": size}
    assert reported == [then, then, {**then, "number": 0, "bytes": 0}]


def test_headers_of_an_untrusted_peer_are_ignored_every_time():
    plane = Plane(has_memo=True)
    plane.policies.policy = a_policy(users=[BOB])
    peer, seen = "192.0.2.66", []
    for number in range(4):
        lines = [b"host: office.example", b"x-forwarded-uri: /forged/%d" % number]
        request = read(plane._memo, a_head(lines), peer)
        plane._application("GET", b"/wall/auth", request.lines, peer, "http", None, request.head)
        seen.append(AccessRecord.from_bytes(plane.records.written.pop().to_bytes()).path)

    assert seen == ["/"] * 4
