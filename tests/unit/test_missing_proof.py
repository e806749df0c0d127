"""Proof that a subject still lacks: a second factor, or a phishing-resistant sign-in."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from gatewall.engine.access_rules.table import AccessOutcome
from gatewall.engine.access_steps import missing_proof
from gatewall.engine.hosts import Access
from gatewall.engine.model import Reason, Subject, SubjectKind

BOB = Subject(SubjectKind.USER, 2, "Bob", user_id=2)


@pytest.mark.parametrize(
    ("access", "amr", "missing"),
    [
        (Access.AUTHENTICATED, ("pwd",), None),
        (Access.TWO_FACTOR, ("pwd",), Reason.SECOND_FACTOR_REQUIRED),
        (Access.TWO_FACTOR, ("pwd", "otp"), None),
        (Access.PHISHING_RESISTANT, ("pwd", "otp"), Reason.PHISHING_RESISTANT_REQUIRED),
        (Access.PHISHING_RESISTANT, ("pwd", "mfa", "phr"), None),
        (Access.DENIED, ("pwd",), None),
    ],
)
def test_a_session_needs_the_proof_that_its_access_asks_for(access, amr, missing):
    facts = SimpleNamespace(subject=replace(BOB, amr=amr), access=AccessOutcome(access), domain_name=None)
    verdict = missing_proof(facts)

    assert (verdict and verdict.reason) == missing
