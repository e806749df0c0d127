"""The inputs of single steps. Their order is tested in test_evaluate_order.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.evaluate import CANNOT_DECIDE, evaluate, explain
from gatewall.engine.model import DecidedBy, Effect, Reason, Subject, SubjectKind
from gatewall.engine.snapshot import Version
from tests.support.cast import (
    ALICE_SUBJECT,
    BOB_SUBJECT,
    OFFICE,
    Subjects,
    a_blocked,
    a_policy,
    a_ports,
    a_request,
    an_allowed,
)
from tests.support.ports import Rates

LAPTOP = "198.51.100.7"


def reason_of(request, policy, ports=None):
    return evaluate(request, policy, ports or a_ports()).reason


# Identity in answers that need no credential: steps 4, 7 and 9.

OPEN_DOORS = pytest.mark.parametrize(
    "policy",
    [
        a_policy(allowed=[LAPTOP]),
        a_policy(allowed=[an_allowed(LAPTOP, inspect=True)]),
        a_policy(domains={OFFICE: "public"}),
    ],
    ids=["client-is-allowed", "inspected-client-is-allowed", "host-is-public"],
)


@OPEN_DOORS
def test_valid_credential_names_the_subject_even_if_it_is_not_needed(policy):
    decision = evaluate(a_request(credentials=["bob"]), policy, a_ports())

    assert decision.effect is Effect.ALLOW
    assert decision.subject == BOB_SUBJECT


@OPEN_DOORS
def test_invalid_credential_is_ignored_if_it_is_not_needed(policy):
    decision = evaluate(a_request(credentials=["forged"]), policy, a_ports())

    assert decision.effect is Effect.ALLOW
    assert decision.subject is None


@OPEN_DOORS
def test_without_a_needed_credential_there_is_no_subject(policy):
    decision = evaluate(a_request(), policy, a_ports())

    assert decision.effect is Effect.ALLOW
    assert decision.subject is None


def test_credentials_of_a_blocked_client_are_not_verified():
    subjects = Subjects()

    evaluate(a_request(credentials=["bob"]), a_policy(blocked=[LAPTOP]), a_ports(credentials=subjects))

    assert subjects.asked == []


def test_refusal_for_scope_names_the_subject():
    policy = a_policy(domains={"shop.example": "authenticated"})

    decision = evaluate(a_request(host="shop.example", credentials=["charlie"]), policy, a_ports())

    assert decision.reason is Reason.HOST_NOT_IN_SCOPE
    assert decision.subject is not None
    assert decision.subject.name == "charlie"


# Credentials.


@pytest.mark.parametrize("position", range(4))
def test_first_valid_credential_counts_in_any_position(position):
    credentials = ["forged"] * 4
    credentials[position] = "bob"

    decision = evaluate(a_request(credentials=[*credentials, "alice"]), a_policy(), a_ports())

    assert decision.subject == BOB_SUBJECT


def test_credentials_behind_the_first_valid_one_are_not_verified():
    subjects = Subjects()

    evaluate(a_request(credentials=["forged", "bob", "alice"]), a_policy(), a_ports(credentials=subjects))

    assert subjects.asked == ["forged", "bob"]


@pytest.mark.parametrize(
    ("credential", "reason"),
    [("bob", Reason.SESSION_VALID), ("git", Reason.GIT_TOKEN_VALID), ("license", Reason.LICENSE_VALID)],
)
def test_reason_names_the_kind_of_credential(credential, reason):
    assert reason_of(a_request(credentials=[credential]), a_policy()) is reason


# Scope.


def test_user_enters_a_domain_that_the_scope_names():
    policy = a_policy(domains={OFFICE: "authenticated"})

    assert reason_of(a_request(credentials=["charlie"]), policy) is Reason.SESSION_VALID


@pytest.mark.parametrize("mode", ["any", "registered"])
def test_user_with_a_scope_enters_no_other_domain(mode):
    policy = a_policy(domains={OFFICE: "authenticated", "shop.example": "authenticated"}, authorized_domains_mode=mode)

    request = a_request(host="shop.example", credentials=["charlie"])

    assert reason_of(request, policy) is Reason.HOST_NOT_IN_SCOPE


def test_user_with_a_scope_does_not_enter_a_host_that_nobody_registered():
    request = a_request(host="unregistered.example", credentials=["charlie"])

    assert reason_of(request, a_policy()) is Reason.HOST_NOT_IN_SCOPE


def test_admin_enters_every_domain_regardless_of_scope():
    admin = Subject(SubjectKind.USER, 1, is_admin=True, all_domains=False, domains=frozenset({"elsewhere.example"}))
    ports = a_ports(credentials=Subjects({"admin": admin}))

    decision = evaluate(a_request(credentials=["admin"]), a_policy(domains={OFFICE: "authenticated"}), ports)

    assert decision.reason is Reason.SESSION_VALID


def test_scope_on_a_wildcard_covers_the_hosts_that_belong_to_it():
    subject = Subject(SubjectKind.USER, 9, all_domains=False, domains=frozenset({"*.office.example"}))
    ports = a_ports(credentials=Subjects({"it": subject}))
    policy = a_policy(domains={"*.office.example": "authenticated"})

    decision = evaluate(a_request(host="wiki.office.example", credentials=["it"]), policy, ports)

    assert decision.reason is Reason.SESSION_VALID


def test_scope_on_a_wildcard_does_not_cover_a_host_with_its_own_registration():
    subject = Subject(SubjectKind.USER, 9, all_domains=False, domains=frozenset({"*.office.example"}))
    ports = a_ports(credentials=Subjects({"it": subject}))
    policy = a_policy(domains={"*.office.example": "authenticated", "pay.office.example": "authenticated"})

    decision = evaluate(a_request(host="pay.office.example", credentials=["it"]), policy, ports)

    assert decision.reason is Reason.HOST_NOT_IN_SCOPE


# Two factors.

TWO_FACTOR = a_policy(domains={OFFICE: "two_factor"})


@pytest.mark.parametrize("amr", [("pwd", "otp"), ("pwd", "mfa"), ("otp",), ("mfa",)])
def test_second_factor_opens_a_two_factor_domain(amr):
    ports = a_ports(credentials=Subjects({"it": Subject(SubjectKind.USER, 2, amr=amr)}))

    assert reason_of(a_request(credentials=["it"]), TWO_FACTOR, ports) is Reason.SESSION_VALID


@pytest.mark.parametrize("amr", [(), ("pwd",), ("pwd", "OTP"), ("pwd", "sms")])
def test_session_without_second_factor_is_challenged(amr):
    ports = a_ports(credentials=Subjects({"it": Subject(SubjectKind.USER, 2, amr=amr)}))

    decision = evaluate(a_request(credentials=["it"]), TWO_FACTOR, ports)

    assert (decision.effect, decision.reason) == (Effect.CHALLENGE, Reason.SECOND_FACTOR_REQUIRED)


def test_admin_needs_the_second_factor_too():
    ports = a_ports(credentials=Subjects({"it": ALICE_SUBJECT}))

    assert reason_of(a_request(credentials=["it"]), TWO_FACTOR, ports) is Reason.SECOND_FACTOR_REQUIRED


MACHINES = pytest.mark.parametrize("kind", [SubjectKind.GIT_TOKEN, SubjectKind.LICENSE])


@MACHINES
def test_machine_whose_scope_names_the_domain_enters_a_two_factor_domain(kind):
    subject = Subject(kind, 5, all_domains=False, domains=frozenset({OFFICE}))
    ports = a_ports(credentials=Subjects({"it": subject}))

    assert evaluate(a_request(credentials=["it"]), TWO_FACTOR, ports).effect is Effect.ALLOW


@MACHINES
def test_machine_for_all_domains_does_not_enter_a_two_factor_domain(kind):
    ports = a_ports(credentials=Subjects({"it": Subject(kind, 5, all_domains=True)}))

    assert reason_of(a_request(credentials=["it"]), TWO_FACTOR, ports) is Reason.SECOND_FACTOR_REQUIRED


@MACHINES
def test_machine_for_all_domains_enters_an_ordinary_domain(kind):
    ports = a_ports(credentials=Subjects({"it": Subject(kind, 5, all_domains=True)}))
    policy = a_policy(domains={OFFICE: "authenticated"})

    assert evaluate(a_request(credentials=["it"]), policy, ports).effect is Effect.ALLOW


# Request rate.


def test_client_over_its_rate_gets_the_seconds_to_wait():
    policy = a_policy(request_rate_per_minute=60)

    decision = evaluate(a_request(credentials=["bob"]), policy, a_ports(over_seconds=9))

    assert decision.verdict.retry_after_seconds == 9


def test_rate_that_is_off_counts_nobody():
    rates = Rates(over=9)

    decision = evaluate(a_request(credentials=["bob"]), a_policy(request_rate_per_minute=0), a_ports(rates=rates))

    assert decision.effect is Effect.ALLOW
    assert rates.asked == 0


def test_a_request_is_counted_once():
    rates = Rates()

    evaluate(a_request(credentials=["bob"]), a_policy(request_rate_per_minute=60), a_ports(rates=rates))

    assert rates.asked == 1


# One of many.


@given(st.integers(0, 30), st.randoms(use_true_random=False))
def test_position_of_the_entry_that_blocks_does_not_matter(position, random):
    others = [a_blocked(f"203.0.113.{number}", id=number + 1) for number in range(30)]
    random.shuffle(others)
    others.insert(position, a_blocked("198.51.100.0/28", id=99))

    decision = evaluate(a_request(credentials=["bob"]), a_policy(blocked=others), a_ports())

    assert decision.reason is Reason.CLIENT_BLOCKED
    assert decision.verdict.decided_by is not None
    assert decision.verdict.decided_by.id == 99


# The row that a decision names, and the decision if no step decides.


@pytest.mark.parametrize(
    ("policy", "kind"),
    [
        (a_policy(blocked=[a_blocked(LAPTOP, id=7)]), "ip-black-list"),
        (a_policy(allowed=[an_allowed(LAPTOP, id=7)]), "ip-white-list"),
        (a_policy(allowed=[an_allowed(LAPTOP, id=7, inspect=True)]), "ip-white-list"),
    ],
)
def test_decision_of_a_list_names_the_resource_and_its_row(policy, kind):
    assert evaluate(a_request(client=LAPTOP), policy, a_ports()).verdict.decided_by == DecidedBy(kind, 7)


def test_without_a_deciding_step_the_gate_cannot_decide(monkeypatch):
    monkeypatch.setattr("gatewall.engine.evaluate.STEPS", ())
    monkeypatch.setattr("gatewall.engine.evaluate._FUNCTIONS", ())

    assert evaluate(a_request(credentials=["alice"]), a_policy(), a_ports()) is CANNOT_DECIDE
    assert explain(a_request(credentials=["alice"]), a_policy(), a_ports()) == (CANNOT_DECIDE, ())


def test_a_policy_of_a_new_epoch_supersedes_one_with_higher_numbers():
    assert Version(1, epoch="new").supersedes(Version(9, 9, 9, epoch="old"))
    assert not Version(1, epoch="old").supersedes(Version(9, 9, 9, epoch="old"))
