"""Grants: which requests they let in, which steps precede them, and that they expire by the time of the request."""

from dataclasses import replace

import pytest

from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.evaluate import evaluate, explain
from gatewall.engine.facts import Facts
from gatewall.engine.grants import GrantTable
from gatewall.engine.hosts import Access
from gatewall.engine.model import DecidedBy, Reason, SubjectKind
from tests.support.cast import (
    CHARLIE,
    CHARLIE_SUBJECT,
    NOW,
    SECRETS,
    Subjects,
    a_policy,
    a_ports,
    a_request,
    a_rule,
)
from tests.unit.rule_facts import SHOP, a_grant

SEEN = frozenset({"uri", "method", "for"})
DENIED = {"access_rules": [AccessRule(8, "rule", Access.DENIED, users=frozenset({CHARLIE.id}))]}


def decide(grant=None, *, who="charlie", host=SHOP, access="authenticated", uri="/", at=NOW, **parts):
    """Return the decision about charlie, whose scope is office.example only, at the shop."""
    visible, method = parts.pop("visible", SEEN), parts.pop("method", "GET")
    ports = a_ports(credentials=Subjects(parts.pop("known", SECRETS)))
    domains = {"office.example": "authenticated", SHOP: access, "other.example": "authenticated"}
    policy = a_policy(domains=domains, grants=[grant or a_grant()], **parts)
    credentials = (who,) if who else ()
    request = a_request(host=host, credentials=credentials, uri=uri, at=at, visible=visible, method=method)
    return evaluate(request, policy, ports)


def test_a_grant_lets_its_user_in_and_is_named_in_the_decision():
    decision = decide()

    assert decision.reason is Reason.GRANT_VALID
    assert decision.verdict.decided_by == DecidedBy("grants", 7)
    assert decision.subject.name == "charlie"


def test_a_grant_expires_by_the_time_of_the_request():
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
def test_a_grant_decides_only_if_no_other_step_does(asked, reason):
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
def test_a_grant_covers_its_path_by_every_reading(uri, visible, reason):
    assert decide(a_grant(path_prefix="/photos"), uri=uri, visible=visible).reason is reason


@pytest.mark.parametrize(
    ("method", "visible", "reason"),
    [
        ("GET", SEEN, Reason.GRANT_VALID),
        ("POST", SEEN, Reason.HOST_NOT_IN_SCOPE),
        ("GET", SEEN - {"method"}, Reason.HOST_NOT_IN_SCOPE),
    ],
)
def test_a_grant_covers_its_methods(method, visible, reason):
    assert decide(a_grant(methods=frozenset({"GET"})), method=method, visible=visible).reason is reason


def test_a_grant_overrides_a_rule_that_denies_its_user():
    in_scope = {"host": "office.example", **DENIED}

    assert decide(a_grant(domain="office.example"), **in_scope).reason is Reason.GRANT_VALID
    assert decide(a_grant(domain="office.example", expires_at=NOW), **in_scope).reason is Reason.ACCESS_DENIED


@pytest.mark.parametrize(
    ("access", "reason"),
    [("two_factor", Reason.SECOND_FACTOR_REQUIRED), ("phishing_resistant", Reason.PHISHING_RESISTANT_REQUIRED)],
)
def test_a_grant_replaces_no_second_factor_or_passkey(access, reason):
    decision = decide(access=access, **DENIED)

    assert decision.reason is reason
    assert decision.verdict.decided_by is None


def test_a_grant_is_not_named_if_the_user_needs_none():
    policy = a_policy(domains={SHOP: "authenticated"}, grants=[a_grant(user_id=2)])
    facts = Facts(a_request(host=SHOP, credentials=["bob"], visible=SEEN), policy, a_ports())

    decision, steps = explain(facts.request, policy, a_ports())

    assert decision.reason is Reason.SESSION_VALID
    assert steps[-1].verdict.decided_by is None


def test_without_a_subject_there_is_no_grant():
    assert Facts(a_request(host=SHOP), a_policy(domains={SHOP: "authenticated"}), a_ports()).grant is None


def test_tables_of_equal_grants_are_equal():
    rows = [a_grant(), a_grant(user_id=9), a_grant(group_id=5)]
    one = GrantTable(rows)

    assert one == GrantTable(rows)
    assert one != GrantTable(rows[:2])
    assert one != GrantTable(rows[1:])
    assert one != "grants"


def test_a_user_has_their_own_grants_first_and_then_those_of_their_groups():
    own, fifth, sixth = a_grant(user_id=9), a_grant(group_id=5), a_grant(group_id=6)
    table = GrantTable([sixth, own, a_grant(group_id=7), fifth])

    assert table.of_user(9, frozenset({5, 6, 8})) == (own, fifth, sixth)
    assert table.of_user(5, frozenset()) == ()
    assert GrantTable([fifth]).has_any
    assert not GrantTable().has_any


OF_GROUP = a_grant(group_id=5)
MEMBER = replace(CHARLIE_SUBJECT, group_ids=frozenset({4, 5}))


@pytest.mark.parametrize(
    ("subject", "grant", "asked", "reason"),
    [
        (MEMBER, OF_GROUP, {}, Reason.GRANT_VALID),
        (MEMBER, OF_GROUP, DENIED, Reason.GRANT_VALID),
        (MEMBER, replace(OF_GROUP, expires_at=NOW), {}, Reason.HOST_NOT_IN_SCOPE),
        (MEMBER, OF_GROUP, {"access": "denied"}, Reason.HOST_NOT_AUTHORIZED),
        (MEMBER, OF_GROUP, {"access_rules": [AccessRule(8, "closed", Access.DENIED)]}, Reason.ACCESS_DENIED),
        (CHARLIE_SUBJECT, OF_GROUP, {}, Reason.HOST_NOT_IN_SCOPE),
        (replace(CHARLIE_SUBJECT, id=5, user_id=5), OF_GROUP, {}, Reason.HOST_NOT_IN_SCOPE),
        (replace(MEMBER, kind=SubjectKind.APP_TOKEN), OF_GROUP, {}, Reason.HOST_NOT_IN_SCOPE),
    ],
    ids=["member", "against a rule", "ended", "denied domain", "denied to all", "not a member", "user 5", "token"],
)
def test_a_grant_of_a_group_lets_its_members_in(subject, grant, asked, reason):
    assert decide(grant, who="someone", known={"someone": subject}, **asked).reason is reason
