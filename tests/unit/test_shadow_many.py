"""Many requests with and without a shadow policy: equal answers, and exactly the differences of both policies."""

import random
from time import thread_time

import pytest

from gatewall.engine.waf.judge import builtin_rules
from gatewall.gate.gate import Dialect
from gatewall.gate.subrequest import auth
from tests.support.cast import (
    BOB,
    BOBS_GIT_TOKEN,
    CHARLIE,
    OFFICE,
    OFFICE_LICENSE,
    PROXY,
    a_policy,
    a_rule,
    a_session_token,
    a_subrequest,
)
from tests.support.form import by_form
from tests.unit.test_shadow import Plane, plain

LIVE = {OFFICE: "authenticated", "open.example": "public", "vault.example": "two_factor", "shut.example": "denied"}
SHADOW = LIVE | {"open.example": "authenticated", "vault.example": "authenticated", "shut.example": "public"}
HOSTS = [*LIVE, "unknown.example", "not a host", ""]
URIS = ["/", "/wiki?q=weekly", "/?q=<script>alert(1)</script>", "/../../etc/passwd", "/beta/board", "no slash"]
CREDENTIALS = [
    {},
    {"service_authorization": a_session_token(BOB)},
    {"cookie": f"a=beta; service.token={a_session_token(CHARLIE, amr=['pwd', 'otp'])}"},
    {"service_git_token": f"Bob:{BOBS_GIT_TOKEN}"},
    {"service_license": OFFICE_LICENSE},
    {"service_authorization": "forged"},
    {"user_agent": "beta crawler", "x_odd": "beta"},
]
CLIENTS = ["198.51.100.7", "203.0.113.9", "192.0.2.1, 10.0.0.9", "nonsense"]


def policies():
    live = {"rules": builtin_rules(), "blocked": ["203.0.113.0/24"], "authorized_domains_mode": "registered"}
    beta = a_rule("beta", id=9001, targets=("headers", "cookies", "path"), score=5)
    shadow = live | {"rules": [*builtin_rules(), beta], "blocked": [], "allowed": ["192.0.2.0/24"]}
    return a_policy(domains=LIVE, **live), a_policy(domains=SHADOW, **shadow)


def some_requests(count):
    chance = random.Random(7)  # noqa: S311 - the same requests on every run
    for _ in range(count):
        host, uri = chance.choice(HOSTS), chance.choice(URIS)
        headers = {"x_forwarded_for": chance.choice(CLIENTS), "x_forwarded_host": host, "x_forwarded_uri": uri}
        yield a_subrequest(peer=PROXY, **headers, **chance.choice(CREDENTIALS))


def verdict(record):
    return {"effect": record.outcome, "reason": record.reason, "decided_by": record.decided_by}


@pytest.mark.parametrize("count", [by_form(full=100_000, default=1_000)])
def test_answers_are_the_same_and_differences_those_of_both_policies(count):
    live, shadow = policies()
    alone, other, watched = Plane(live), Plane(shadow), Plane(live, shadow)
    differing, dialect = 0, Dialect(auth)
    for each in some_requests(count):
        answers = [plane.gate.check(dialect, each) for plane in (alone, watched)]
        assert plain(answers[0]) == plain(answers[1])
        other.gate.check(dialect, each)
        watched.work()
        (theirs,), (ours,) = other.records.read, watched.records.read
        found = watched.amendments.written.pop(ours.decision_id, None)
        expected = verdict(theirs) if verdict(theirs) != verdict(ours) else None
        assert (found and found[1]) == expected
        for plane in (alone, other, watched):
            plane.records.written.clear()
        differing += expected is not None

    figures = watched.shadow.figures
    assert (figures.evaluated, figures.differing) == (count, differing)
    assert 0.1 * count < differing < 0.9 * count


@pytest.mark.parametrize("count", [by_form(full=100_000, default=1_000)])
def test_evaluating_stays_within_its_share_of_cpu_time(count):
    live, shadow = policies()
    watched, dialect = Plane(live, shadow, cpu_percent=5, cpu=thread_time), Dialect(auth)
    watched.shadow._saved = 0.0
    longest = 0.0
    for each in some_requests(count):
        before = watched.shadow.figures.shadow_seconds
        watched.gate.check(dialect, each)
        watched.work()
        longest = max(longest, watched.shadow.figures.shadow_seconds - before)
        watched.records.written.clear()

    figures = watched.shadow.figures
    assert 0 < figures.shadow_seconds <= 0.05 * figures.answer_seconds + longest
    assert figures.evaluated + figures.skipped == figures.selected == count
    assert figures.skipped > 0
