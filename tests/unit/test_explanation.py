"""The explanation of a hypothetical request equals the answer of the gate to the same request."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatewall.engine.model import SubjectKind
from gatewall.engine.steps import STEPS
from gatewall.gate.gate import Dialect, Gate
from gatewall.gate.headers import from_lines
from gatewall.gate.responses import GuardPage
from gatewall.gate.subrequest import Subrequest, auth
from gatewall.kernel.clientip import TrustedProxies
from gatewall.replay.explanation import AssumedSubject, MadeUpRequest, explain_request
from tests.support.cast import (
    BOB,
    BOBS_GIT_TOKEN,
    CHARLIE,
    CLIENT,
    LICENSES,
    NOW,
    OFFICE,
    OFFICE_LICENSE,
    OPEN_LICENSE,
    TRUSTED,
    USERS,
    Subjects,
    a_credential_check,
    a_policy,
    a_ports,
    a_rule,
    a_session_token,
    an_allowed,
)
from tests.support.records import Records

SHARED = ("client_ip", "country_code", "method", "scheme", "host", "path", "query", "status", "outcome", "reason")
SHARED += ("decided_by", "rules", "visible", "subject", "policy_revision")
DOMAINS = {OFFICE: "authenticated", "open.example": "public", "vault.example": "two_factor", "shut.example": "denied"}
VISIT = MadeUpRequest(CLIENT, OFFICE, "GET", "/", "https")


class Policies:
    def __init__(self, policy):
        self.policy = policy

    def current(self):
        return self.policy


def explained_under(policy, made_up=VISIT, ports=None, trusted=TRUSTED):
    ports = ports or a_ports(country="DE", credentials=a_credential_check())
    return explain_request(made_up, policy, ports, trusted, NOW)


def explained(made_up=VISIT, *, ports=None, trusted=TRUSTED, **policy):
    return explained_under(a_policy(**policy), made_up, ports, trusted)


def gate_record(made_up, policy, ports):
    """Return the record that the gate writes when a proxy asks about the same request."""
    records = Records()
    gate = Gate(Policies(policy), ports, trusted=TRUSTED, guard=GuardPage("/wall"), clock=lambda: NOW, records=records)
    told = [
        ("host", made_up.host),
        ("x-forwarded-for", made_up.client),
        ("x-forwarded-host", made_up.host),
        ("x-forwarded-proto", made_up.scheme),
        ("x-forwarded-method", made_up.method),
        ("x-forwarded-uri", made_up.uri),
        *made_up.headers,
    ]
    lines = [(name.encode(), value.encode("latin-1")) for name, value in told if value is not None]
    gate.check(Dialect(auth), Subrequest("", "http", from_lines(lines)))
    (record,) = records.written
    return record


def shared(record):
    return {name: getattr(record, name) for name in SHARED}


TEXTS = st.text(st.characters(max_codepoint=255, exclude_characters="\n"), min_size=1, max_size=12)
CREDENTIALS = {
    "bob": ("service-authorization", a_session_token(BOB)),
    "charlie": ("service-authorization", a_session_token(CHARLIE, amr=["pwd", "otp"])),
    "late": ("cookie", f"a=b; service.token={a_session_token(BOB, exp=int(NOW) - 1)}"),
    "forged": ("service-authorization", "x.y.z"),
    "git": ("service-git-token", f"Bob:{BOBS_GIT_TOKEN}"),
    "stranger": ("service-git-token", f"charlie:{BOBS_GIT_TOKEN}"),
    "open": ("service-license", OPEN_LICENSE),
    "office": ("service-license", OFFICE_LICENSE),
}
REQUESTS = st.builds(
    MadeUpRequest,
    st.sampled_from([CLIENT, "203.0.113.7", f"10.1.1.1, {CLIENT}", "::ffff:198.51.100.7", "10.0.0.9", "1.2.3"])
    | TEXTS.filter(lambda text: text.strip(", \t")),  # no client at all: test_an_empty_part_...
    st.sampled_from([*DOMAINS, "nobody.example", "OFFICE.example.:443", "a b", "office.example,b"]) | TEXTS,
    st.sampled_from(["GET", "POST", "get", "M-SEARCH"]) | TEXTS,
    st.sampled_from(["/", "/?q=attack", "/wiki?a=b", "*", "no-path", "/a#b", "/a\x01"]) | TEXTS,
    st.sampled_from(["https", "http", "wss", "gopher", None]),
    st.lists(
        st.sampled_from(list(CREDENTIALS.values())) | st.tuples(st.sampled_from(["x-attack", "accept"]), TEXTS),
        max_size=3,
    ).map(tuple),
)
POLICIES = st.fixed_dictionaries(
    {
        "domains": st.sampled_from([{}, DOMAINS]),
        "authorized_domains_mode": st.sampled_from(["any", "registered"]),
        "blocked": st.sampled_from([(), ("198.51.100.0/24",), ("10.0.0.9",)]),
        "allowed": st.sampled_from([(), ("198.51.100.0/24",), (an_allowed(CLIENT, inspect=True),)]),
        "countries": st.sampled_from([(), ("DE",)]),
        "rules": st.sampled_from([(), (a_rule("attack"),)]),
        "request_rate_per_minute": st.sampled_from([0, 1]),
    }
)


@pytest.mark.no_cover
@settings(max_examples=300)
@given(REQUESTS, POLICIES, st.sampled_from([0, 7]))
def test_explanation_equals_the_record_of_the_gate(made_up, parts, over):
    policy = a_policy(**parts)
    ports = a_ports(country="DE", credentials=a_credential_check(), over_seconds=over)

    explanation = explained_under(policy, made_up, ports)

    assert shared(explanation.record) == shared(gate_record(made_up, policy, ports))


def test_without_a_policy_there_is_no_step():
    explanation = explained_under(None)

    assert (explanation.record.status, explanation.record.reason, explanation.steps) == (503, "cannot-decide", ())


def test_later_steps_show_their_verdicts_without_being_reached():
    steps = {step.step: step for step in explained(blocked=[CLIENT], rules=[a_rule("/", id=9)]).steps}

    assert (steps["client-is-blocked"].decided, steps["client-is-blocked"].reached) == (True, True)
    assert (steps["waf-rules-match"].decided, steps["waf-rules-match"].reached) == (False, False)
    assert [rule.rule_id for rule in steps["waf-rules-match"].rules] == [9]
    assert (steps["host-is-public"].verdict, steps["host-is-public"].asked) == (None, True)


def test_a_rule_that_only_monitors_is_named_at_its_step():
    (step,) = (each for each in explained(rules=[a_rule("/")], waf_mode="monitor").steps if each.rules)

    assert (step.step, step.verdict, step.rules[0].enforced) == ("waf-rules-match", None, False)


def test_no_step_is_evaluated_after_a_malformed_request():
    steps = explained(replace(VISIT, host="a b"), blocked=[CLIENT], rules=[a_rule("/")]).steps

    assert [step.asked for step in steps] == [True] + [False] * (len(STEPS) - 1)
    assert not any(step.rules for step in steps)


@pytest.mark.parametrize("part", ["client", "host", "method", "uri", "scheme"])
@pytest.mark.parametrize("value", ["", "{}\n{}", "\n"], ids=["empty", "twice", "line feed"])
def test_an_empty_part_and_one_with_a_line_feed_are_malformed(part, value):
    made_up = replace(VISIT, **{part: value.replace("{}", getattr(VISIT, part))})

    assert explained(made_up, allowed=["0.0.0.0/0", "::/0"]).record.reason == "request-malformed"


ASSUMED = [
    (AssumedSubject(SubjectKind.USER, BOB.id, ("pwd",)), OFFICE, "session-valid"),
    (AssumedSubject(SubjectKind.USER, BOB.id, ("pwd",)), "vault.example", "second-factor-required"),
    (AssumedSubject(SubjectKind.USER, BOB.id, ("pwd", "otp")), "vault.example", "session-valid"),
    (AssumedSubject(SubjectKind.USER, CHARLIE.id, ("pwd",)), "nobody.example", "host-not-in-scope"),
    (AssumedSubject(SubjectKind.USER, 999, ("pwd",)), OFFICE, "credential-invalid"),
    (AssumedSubject(SubjectKind.LICENSE, 31), OFFICE, "license-valid"),
    (AssumedSubject(SubjectKind.LICENSE, 999), OFFICE, "credential-invalid"),
]


@pytest.mark.parametrize(("assumed", "host", "reason"), ASSUMED)
def test_a_subject_can_be_assumed_to_be_signed_in(assumed, host, reason):
    explanation = explained(replace(VISIT, host=host, assumed=assumed), domains=DOMAINS)

    assert explanation.record.reason == reason


def test_a_disabled_user_is_not_assumed_to_be_signed_in():
    assumed = AssumedSubject(SubjectKind.USER, BOB.id, ("pwd",))
    users = [replace(user, is_active=False) for user in USERS]

    assert explained(replace(VISIT, assumed=assumed), users=users).record.reason == "credential-invalid"


@pytest.mark.parametrize("change", [{"is_active": False}, {"expires_at": NOW}], ids=["off", "expired"])
def test_an_invalid_license_is_not_assumed_to_be_sent(change):
    assumed = AssumedSubject(SubjectKind.LICENSE, 31)
    licenses = [replace(state, **change) for state in LICENSES]

    assert explained(replace(VISIT, assumed=assumed), licenses=licenses).record.reason == "credential-invalid"


def test_an_assumed_user_precedes_a_sent_token_and_an_assumed_license_follows_it():
    sent = replace(VISIT, headers=(CREDENTIALS["git"],))
    kinds = [
        explained(replace(sent, assumed=AssumedSubject(kind, number))).record.subject["kind"]
        for kind, number in ((SubjectKind.USER, BOB.id), (SubjectKind.LICENSE, 31))
    ]

    assert kinds == ["user", "git-token"]


def test_an_empty_secret_is_not_taken_for_the_assumed_subject():
    subjects = Subjects(known={})
    sent = replace(VISIT, headers=(("service-authorization", "Bearer "), ("service-license", " ")))

    assert explained(sent, ports=a_ports(credentials=subjects)).record.reason != "session-valid"


def test_without_trusted_proxies_the_client_is_the_peer():
    record = explained(replace(VISIT, uri="/?q=attack"), trusted=TrustedProxies(()), rules=[a_rule("attack")]).record

    assert (record.client_ip, record.host, record.path, record.visible) == (CLIENT, OFFICE, "/", ["headers"])
    assert record.reason == "credential-missing"


def test_repr_of_a_hypothetical_request_holds_no_secret():
    made_up = replace(VISIT, uri="/?token=hunter2", headers=(("service-authorization", "hunter2"),))

    assert "hunter2" not in repr(made_up)
