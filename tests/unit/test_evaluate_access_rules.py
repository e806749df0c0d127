"""Access rules in the decision: the reason, the rule that decided, and the order of the steps."""

from dataclasses import dataclass, field, replace

import pytest

from gatewall.engine.evaluate import evaluate
from gatewall.engine.model import DecidedBy, Effect, Reason
from gatewall.gate.responses import GuardPage, answer
from tests.support.cast import (
    BOB_SUBJECT,
    CHARLIE_SUBJECT,
    CLIENT,
    GIT_SUBJECT,
    LICENSE_SUBJECT,
    OFFICE,
    Subjects,
    a_policy,
    a_ports,
    a_request,
    an_address,
)
from tests.unit.rule_facts import SHOWN, an_access_rule

SUBJECTS = {
    "bob": BOB_SUBJECT,
    "charlie": CHARLIE_SUBJECT,
    "otp": replace(BOB_SUBJECT, amr=("pwd", "otp")),
    "passkey": replace(BOB_SUBJECT, amr=("hwk", "mfa", "phr")),
    "git": GIT_SUBJECT,
    "narrow git": replace(GIT_SUBJECT, all_domains=False, domains=frozenset({OFFICE})),
    "license": LICENSE_SUBJECT,
    "odd git": replace(GIT_SUBJECT, amr=("phr",)),
}


def decide(*rules, who=None, access="authenticated", uri="/", rates=None, settings=None, **request):
    policy = a_policy(domains={OFFICE: access}, access_rules=rules, **(settings or {}))
    asked = a_request(credentials=[who] if who else [], uri=uri, visible=SHOWN, **request)
    return evaluate(asked, policy, a_ports(credentials=Subjects(SUBJECTS), rates=rates, country="DE"))


def verdict(*rules, **parts):
    decision = decide(*rules, **parts)
    return decision.reason.value, decision.verdict.decided_by and decision.verdict.decided_by.id


PUBLIC = an_access_rule("public", "prefix /hook", id=7)
FOR_SESSIONS = {"credential_kinds": frozenset({"session"})}


@pytest.mark.parametrize("access", ["authenticated", "two_factor", "phishing_resistant", "public"])
def test_public_rule_opens_its_path(access):
    assert verdict(PUBLIC, access=access, uri="/hook/1") == ("path-public", 7)


@pytest.mark.parametrize("pattern", ["glob /**", "prefix /"])
@pytest.mark.parametrize("uri", ["/", "/a/b", "*"])
def test_rule_for_every_path_covers_requests_about_the_whole_server(pattern, uri):
    closed = an_access_rule("denied", pattern, id=8)

    assert verdict(closed, access="public", uri=uri, method="OPTIONS") == ("access-denied", 8)


def test_public_rule_opens_no_denied_domain():
    assert verdict(PUBLIC, access="denied", uri="/hook") == ("host-not-authorized", 1)


def test_public_rule_ignores_the_scope_but_names_the_user():
    decision = decide(an_access_rule("public"), who="charlie", host="other.example")

    assert (decision.reason, decision.subject) == (Reason.PATH_PUBLIC, CHARLIE_SUBJECT)


def test_rule_makes_a_path_of_a_public_domain_private():
    rule = an_access_rule("authenticated", "prefix /admin")

    assert verdict(rule, access="public", uri="/admin/x") == ("credential-missing", None)
    assert verdict(rule, access="public", uri="/admin/x", who="bob") == ("session-valid", None)
    assert verdict(rule, access="public", uri="/x") == ("host-public", 1)


@pytest.mark.parametrize("who", [None, "bob", "otp", "license"])
def test_rule_without_a_condition_on_subjects_denies_everybody(who):
    assert verdict(an_access_rule("denied", id=9), who=who) == ("access-denied", 9)


def test_rule_with_a_condition_on_subjects_denies_matching_subjects():
    rule = an_access_rule("denied", id=9, **FOR_SESSIONS)

    assert verdict(rule) == ("credential-missing", None)
    assert verdict(rule, who="forged") == ("credential-invalid", None)
    assert verdict(rule, who="bob") == ("access-denied", 9)
    assert verdict(rule, who="license") == ("license-valid", None)
    assert verdict(rule, who="charlie", host="other.example") == ("host-not-in-scope", None)


def test_public_domain_requires_a_sign_in_if_a_rule_has_a_condition_on_subjects():
    rule = an_access_rule("two_factor", "prefix /admin", id=3, **FOR_SESSIONS)

    assert verdict(rule, access="public", uri="/admin") == ("credential-missing", None)
    assert verdict(rule, access="public", uri="/admin", who="bob") == ("second-factor-required", 3)
    assert verdict(rule, access="public", uri="/admin", who="license") == ("host-public", 1)


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("bob", ("second-factor-required", 3)),
        ("otp", ("session-valid", None)),
        ("git", ("second-factor-required", 3)),
        ("narrow git", ("git-token-valid", None)),
        ("license", ("second-factor-required", 3)),
    ],
)
def test_rule_asks_for_a_second_factor(who, expected):
    assert verdict(an_access_rule("two_factor", id=3), who=who) == expected


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("bob", "phishing-resistant-required"),
        ("otp", "phishing-resistant-required"),
        ("passkey", "session-valid"),
        ("narrow git", "phishing-resistant-required"),
        ("odd git", "phishing-resistant-required"),
        ("license", "phishing-resistant-required"),
    ],
)
def test_phishing_resistance_is_asked_for_by_a_rule_or_by_the_domain(who, expected):
    decided_by = None if expected == "session-valid" else 3

    assert verdict(an_access_rule("phishing_resistant", id=3), who=who) == (expected, decided_by)
    assert verdict(access="phishing_resistant", who=who) == (expected, None)


def test_authenticated_rule_removes_the_second_factor_from_a_path():
    assert verdict(an_access_rule("authenticated"), access="two_factor", who="bob") == ("session-valid", None)


def test_path_is_read_without_its_query():
    exact = an_access_rule("public", "exact /hook")

    assert verdict(exact, uri="/hook?a=/../b//c;d%2fe") == ("path-public", 1)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"origin": "https://a.example", "access-control-request-method": "PUT"}, "path-public"),
        ({"origin": "https://a.example"}, "credential-missing"),
        ({"access-control-request-method": "PUT"}, "credential-missing"),
        ({}, "credential-missing"),
    ],
)
def test_only_browser_preflights_count_as_preflights(headers, expected):
    rule = an_access_rule("public", methods=frozenset({"OPTIONS"}))

    assert verdict(rule, method="OPTIONS", headers=headers)[0] == expected
    assert verdict(rule, method="PUT", headers=headers)[0] == "credential-missing"


def test_answer_on_a_public_path_has_the_subject_kind_public():
    decision = decide(PUBLIC, uri="/hook")

    headers = dict(answer(decision, None, None, GuardPage("/wall"), "id").headers)

    assert headers["X-Gatewall-Subject-Kind"] == "public"
    assert headers["Remote-User"] == ""


@dataclass
class RuleRates:
    """A request rate with the seconds to wait for each rule; None is the limit of the settings."""

    over: dict
    asked: list = field(default_factory=list)

    def seconds_over(self, client, limit_per_minute, at, rule_id=None):
        assert client == an_address(CLIENT)
        self.asked.append((rule_id, limit_per_minute))
        return self.over.get(rule_id, 0)


def test_rate_of_the_deciding_rule_is_counted_apart():
    rates = RuleRates({7: 12})
    rules = [an_access_rule("public", "prefix /hook", id=7, rate_per_minute=30), an_access_rule("denied", id=8)]

    decision = decide(*rules, uri="/hook", rates=rates)

    assert (decision.effect, decision.reason) == (Effect.DENY, Reason.CLIENT_RATE_LIMITED)
    assert decision.verdict.decided_by == DecidedBy("access-rules", 7)
    assert decision.verdict.retry_after_seconds == 12
    assert rates.asked == [(7, 30)]


def test_rate_of_the_settings_is_counted_first_and_a_refused_request_is_not_counted_again():
    rule = an_access_rule("public", id=7, rate_per_minute=30)
    rates, limited = RuleRates({None: 3}), {"request_rate_per_minute": 60}

    decision = decide(rule, rates=rates, settings=limited)

    assert (decision.reason, decision.verdict.decided_by) == (Reason.CLIENT_RATE_LIMITED, None)
    assert rates.asked == [(None, 60)]
    within = RuleRates({})
    assert decide(rule, rates=within, settings=limited).reason is Reason.PATH_PUBLIC
    assert within.asked == [(None, 60), (7, 30)]


def test_rule_that_does_not_decide_counts_nothing():
    rates = RuleRates({})

    decide(an_access_rule("public", "prefix /hook", rate_per_minute=30), rates=rates, uri="/")

    assert rates.asked == []


def test_request_without_a_rule_for_its_host_judges_none():
    class Untouchable(frozenset):
        def __contains__(self, item):
            raise AssertionError(item)

    elsewhere = replace(an_access_rule("denied", domains=frozenset({"other.example"})), methods=Untouchable({"GET"}))

    assert verdict(elsewhere, access="public") == ("host-public", 1)
