"""The memo of a credential is valid for one policy, and within the lifetime of the session."""

from dataclasses import replace

import pytest

from tests.support.cast import BOB, BOB_SUBJECT, DAY, NOW, a_credential, a_credential_check, a_policy, a_session_token


@pytest.mark.parametrize(
    ("changed", "seconds"),
    [
        (lambda _: a_policy(revoked=["session-1"]), 0),
        (lambda policy: replace(policy, revoked_sessions=frozenset({"session-1"})), 0),
        (lambda _: a_policy(users=[replace(BOB, is_active=False)]), 0),
        (lambda _: a_policy(users=[replace(BOB, session_version=2)]), 0),
        (lambda policy: policy, 2 * DAY),
        (lambda policy: policy, -DAY),
    ],
    ids=["revoked", "revoked in a copy", "disabled", "version", "expired", "not begun"],
)
def test_a_credential_that_was_good_is_checked_again_under_another_policy_and_at_another_time(changed, seconds):
    check, policy, credential = a_credential_check(), a_policy(), a_credential(a_session_token(BOB))
    assert check.subject_of(credential, policy, NOW) == BOB_SUBJECT
    assert check.subject_of(credential, policy, NOW) is check.subject_of(credential, policy, NOW)

    assert check.subject_of(credential, changed(policy), NOW + seconds) is None
    assert check.subject_of(credential, policy, NOW) == BOB_SUBJECT
