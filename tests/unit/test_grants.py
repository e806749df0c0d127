"""Grants: what they let a user into, what stands above them, and that they end by the time of the request alone."""

import pytest

from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.evaluate import evaluate, explain
from gatewall.engine.facts import Facts
from gatewall.engine.grants import GrantTable
from gatewall.engine.hosts import Access
from gatewall.engine.model import DecidedBy, Reason
from tests.support.cast import CHARLIE, NOW, a_policy, a_ports, a_request, a_rule
from tests.unit.rule_facts import SHOP, a_grant

SEEN = frozenset({"uri", "method", "for"})
DENIED = {"access_rules": [AccessRule(8, "rule", Access.DENIED, users=frozenset({CHARLIE.id}))]}


def decide(grant=None, *, who="charlie", host=SHOP, access="authenticated", uri="/", at=NOW, **parts):
    """What charlie, whose scope is office.example alone, is told at the shop."""
    visible, method = parts.pop("visible", SEEN), parts.pop("method", "GET")
    domains = {"office.example": "authenticated", SHOP: access, "other.example": "authenticated"}
    policy = a_policy(domains=domains, grants=[grant or a_grant()], **parts)
    credentials = (who,) if who else ()
    request = a_request(host=host, credentials=credentials, uri=uri, at=at, visible=visible, method=method)
    return evaluate(request, policy, a_ports())


def test_it_lets_its_user_in_and_says_that_it_did():
    decision = decide()

    assert decision.reason is Reason.GRANT_VALID
    assert decision.verdict.decided_by == DecidedBy("grants", 7)
    assert decision.subject.name == "charlie"


def test_it_ends_at_its_second_without_any_process():
    assert decide(at=NOW + 59.999).reason is Reason.GRANT_VALID
    assert decide(at=NOW + 60).reason is Reason.HOST_NOT_IN_SCOPE


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"who": None}, Reason.CREDENTIAL_MISSING),
        ({"who": "git"}, Reason.GIT_TOKEN_VALID),
        ({"who": "bob"}, Reason.SESSION_VALID),
        ({"host": "other.example"}, Reason.HOST_NOT_IN_SCOPE),
        ({"host": "unknown.example"}, Reason.HOST_NOT_IN_SCOPE),
        ({"access": "denied"}, Reason.HOST_NOT_AUTHORIZED),
        ({"access": "two_factor"}, Reason.SECOND_FACTOR_REQUIRED),
        ({"blocked": ["198.51.100.7"]}, Reason.CLIENT_BLOCKED),
        ({"rules": [a_rule("attack")], "uri": "/?q=attack"}, Reason.WAF_RULE),
        ({"access_rules": [AccessRule(8, "closed", Access.DENIED)]}, Reason.ACCESS_DENIED),
    ],
)
def test_what_stands_above_it_or_needs_none_decides(asked, reason):
    assert decide(**asked).reason is reason


@pytest.mark.parametrize(
    ("uri", "visible", "reason"),
    [
        ("/photos", SEEN, Reason.GRANT_VALID),
        ("/photos/7?x=1", SEEN, Reason.GRANT_VALID),
        ("/photosx", SEEN, Reason.HOST_NOT_IN_SCOPE),
        ("/", SEEN, Reason.HOST_NOT_IN_SCOPE),
        ("/photos/../admin", SEEN, Reason.HOST_NOT_IN_SCOPE),
        ("/photos/..%252f..%252fadmin", SEEN, Reason.HOST_NOT_IN_SCOPE),
        ("/photos", SEEN - {"uri"}, Reason.HOST_NOT_IN_SCOPE),
        ("/photos" + "/a" * 1001, SEEN, Reason.HOST_NOT_IN_SCOPE),
    ],
    ids=["itself", "below", "beside", "above", "dot segments", "encoded", "not shown", "too many readings"],
)
def test_it_covers_its_path_by_every_reading(uri, visible, reason):
    assert decide(a_grant(path_prefix="/photos"), uri=uri, visible=visible).reason is reason


@pytest.mark.parametrize(
    ("method", "visible", "reason"),
    [
        ("GET", SEEN, Reason.GRANT_VALID),
        ("POST", SEEN, Reason.HOST_NOT_IN_SCOPE),
        ("GET", SEEN - {"method"}, Reason.HOST_NOT_IN_SCOPE),
    ],
)
def test_it_covers_its_methods(method, visible, reason):
    assert decide(a_grant(methods=frozenset({"GET"})), method=method, visible=visible).reason is reason


def test_it_is_against_a_rule_that_denies_its_user():
    in_scope = {"host": "office.example", **DENIED}

    assert decide(a_grant(domain="office.example"), **in_scope).reason is Reason.GRANT_VALID
    assert decide(a_grant(domain="office.example", expires_at=NOW), **in_scope).reason is Reason.ACCESS_DENIED


@pytest.mark.parametrize(
    ("access", "reason"),
    [("two_factor", Reason.SECOND_FACTOR_REQUIRED), ("phishing_resistant", Reason.PHISHING_RESISTANT_REQUIRED)],
)
def test_against_a_rule_the_domain_still_asks_for_its_proof(access, reason):
    decision = decide(access=access, **DENIED)

    assert decision.reason is reason
    assert decision.verdict.decided_by is None


def test_it_is_looked_up_for_nobody_who_needs_none():
    policy = a_policy(domains={SHOP: "authenticated"}, grants=[a_grant(user_id=2)])
    facts = Facts(a_request(host=SHOP, credentials=["bob"], visible=SEEN), policy, a_ports())

    decision, steps = explain(facts.request, policy, a_ports())

    assert decision.reason is Reason.SESSION_VALID
    assert steps[-1].verdict.decided_by is None


def test_without_a_subject_there_is_none():
    assert Facts(a_request(host=SHOP), a_policy(domains={SHOP: "authenticated"}), a_ports()).grant is None


def test_tables_of_equal_grants_are_equal():
    one = GrantTable([a_grant(), a_grant(user_id=9)])

    assert one == GrantTable([a_grant(), a_grant(user_id=9)])
    assert one != GrantTable([a_grant()])
    assert one != "grants"
    assert one.of_user(9) == (a_grant(user_id=9),)
