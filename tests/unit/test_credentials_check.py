"""The subject that a credential authenticates under the current policy."""

from dataclasses import replace

import pytest

from gatewall.credentials.check import PolicyCredentials, VerifiedTokens
from gatewall.credentials.guests import GuestVerifier
from gatewall.credentials.sessions import SessionVerifier
from gatewall.engine.model import CredentialKind, Subject, SubjectKind
from gatewall.gate.future_sessions import FutureSessions
from tests.support.cast import (
    ALICE,
    AUDIENCE,
    BOB,
    BOB_SUBJECT,
    BOBS_GIT_TOKEN,
    CHARLIE,
    CHARLIES_GIT_TOKEN,
    DAY,
    GIT_TOKENS,
    ISSUER,
    KEYS,
    LICENSES,
    NOW,
    OFFICE,
    OFFICE_LICENSE,
    OPEN_LICENSE,
    a_credential,
    a_credential_check,
    a_policy,
    a_session_token,
)

SESSION = pytest.mark.parametrize("kind", [CredentialKind.SESSION_HEADER, CredentialKind.SESSION_COOKIE])
GIT = pytest.mark.parametrize("kind", [CredentialKind.GIT_TOKEN, CredentialKind.GIT_BASIC])
MEMO = pytest.mark.parametrize("seen", [True, False], ids=["memoised", "fresh"])


def subject_of(secret, policy=None, *, kind=CredentialKind.SESSION_HEADER, username="", at=NOW, check=None):
    check = check or a_credential_check()
    return check.subject_of(a_credential(secret, kind, username), policy or a_policy(), at)


def a_check(*, seen):
    """Return a credential check that has seen Bob's token before, or not."""
    check = a_credential_check()
    if seen:
        assert subject_of(a_session_token(BOB), check=check) is not None
    return check


# Sessions.


@SESSION
def test_session_proves_its_user(kind):
    assert subject_of(a_session_token(BOB), kind=kind) == BOB_SUBJECT


def test_session_carries_how_it_was_opened():
    subject = subject_of(a_session_token(BOB, amr=["pwd", "otp"]))

    assert subject is not None
    assert subject.amr == ("pwd", "otp")


def test_user_attributes_come_from_the_policy_and_not_from_the_token():
    promoted = replace(BOB, is_admin=True, username="robert", all_domains=False, domains=frozenset({OFFICE}))

    subject = subject_of(a_session_token(BOB), a_policy(users=[promoted]))

    assert subject == Subject(
        SubjectKind.USER,
        BOB.id,
        "robert",
        BOB.email,
        True,
        user_id=BOB.id,
        all_domains=False,
        domains=frozenset({OFFICE}),
        amr=("pwd",),
    )


@MEMO
def test_revoked_session_proves_nobody(seen):
    assert subject_of(a_session_token(BOB), a_policy(revoked=["session-1"]), check=a_check(seen=seen)) is None


@MEMO
def test_session_of_an_older_version_proves_nobody(seen):
    policy = a_policy(users=[replace(BOB, session_version=2)])

    assert subject_of(a_session_token(BOB), policy, check=a_check(seen=seen)) is None


@MEMO
def test_session_of_a_disabled_user_proves_nobody(seen):
    policy = a_policy(users=[replace(BOB, is_active=False)])

    assert subject_of(a_session_token(BOB), policy, check=a_check(seen=seen)) is None


@MEMO
def test_session_of_a_deleted_user_proves_nobody(seen):
    assert subject_of(a_session_token(BOB), a_policy(users=[ALICE]), check=a_check(seen=seen)) is None


@MEMO
def test_expired_session_proves_nobody(seen):
    assert subject_of(a_session_token(BOB), at=NOW + DAY, check=a_check(seen=seen)) is None


@MEMO
def test_session_that_has_not_begun_proves_nobody(seen):
    assert subject_of(a_session_token(BOB), at=NOW - DAY, check=a_check(seen=seen)) is None


def test_revocation_of_one_session_leaves_the_others_of_the_user():
    assert subject_of(a_session_token(BOB, jti="other"), a_policy(revoked=["session-1"])) is not None


# The memo.


class CountingVerifier(SessionVerifier):
    """A verifier that counts the verified signatures."""

    calls = 0

    def verify(self, token):
        self.calls += 1
        return super().verify(token)


def a_memo(size=2):
    verifier = CountingVerifier(KEYS, issuer=ISSUER, audience=AUDIENCE)
    return verifier, VerifiedTokens(verifier, size)


def test_a_valid_signature_is_not_verified_again():
    verifier, memo = a_memo()

    assert memo.verify(a_session_token(BOB)) == memo.verify(a_session_token(BOB))
    assert verifier.calls == 1


def test_an_invalid_token_is_not_cached():
    verifier, memo = a_memo()

    assert memo.verify("bad") is memo.verify("bad") is None
    assert verifier.calls == 2


def test_the_least_recently_used_token_is_evicted_first():
    verifier, memo = a_memo(size=2)
    first, second, third = (a_session_token(BOB, jti=jti) for jti in ("1", "2", "3"))
    for token in (first, second, first, third):
        memo.verify(token)
    verifier.calls = 0

    memo.verify(first)
    memo.verify(third)
    assert verifier.calls == 0
    memo.verify(second)
    assert verifier.calls == 1


def test_memo_gives_each_token_its_own_claims():
    check = PolicyCredentials(a_memo()[1], VerifiedTokens(GuestVerifier(KEYS)))

    names = [subject_of(a_session_token(user), check=check).name for user in (ALICE, BOB, ALICE, CHARLIE, BOB)]

    assert names == ["alice", "Bob", "alice", "charlie", "Bob"]


# Git tokens.


@GIT
def test_git_token_proves_its_owner(kind):
    subject = subject_of(CHARLIES_GIT_TOKEN, kind=kind, username="charlie")

    assert subject == Subject(
        SubjectKind.GIT_TOKEN, 22, "charlie", CHARLIE.email, all_domains=False, domains=frozenset({OFFICE}), user_id=3
    )


@pytest.mark.parametrize("username", ["Bob", "bob", "BOB"])
def test_case_of_the_username_does_not_matter(username):
    assert subject_of(BOBS_GIT_TOKEN, kind=CredentialKind.GIT_TOKEN, username=username) is not None


@pytest.mark.parametrize("username", ["", "alice", "bob ", "b\xf3b", "bo"])
def test_git_token_with_another_username_proves_nobody(username):
    assert subject_of(BOBS_GIT_TOKEN, kind=CredentialKind.GIT_TOKEN, username=username) is None


@pytest.mark.parametrize(
    "users", [(), (replace(BOB, is_active=False),), (replace(BOB, id=9),)], ids=["deleted", "disabled", "recreated"]
)
def test_git_token_of_a_deleted_disabled_or_recreated_user_proves_nobody(users):
    policy = a_policy(users=users)

    assert subject_of(BOBS_GIT_TOKEN, policy, kind=CredentialKind.GIT_TOKEN, username="Bob") is None


def test_git_token_that_was_deleted_proves_nobody():
    policy = a_policy(git_tokens=GIT_TOKENS[1:])

    assert subject_of(BOBS_GIT_TOKEN, policy, kind=CredentialKind.GIT_TOKEN, username="Bob") is None


@pytest.mark.parametrize(("seconds", "live"), [(-0.001, True), (0, False)])
def test_git_token_ends_at_its_expiry(seconds, live):
    at = NOW + DAY + seconds

    subject = subject_of(CHARLIES_GIT_TOKEN, kind=CredentialKind.GIT_TOKEN, username="charlie", at=at)

    assert (subject is not None) is live


def test_git_token_of_an_admin_proves_an_admin():
    policy = a_policy(git_tokens=[replace(GIT_TOKENS[0], user_id=ALICE.id)])

    subject = subject_of(BOBS_GIT_TOKEN, policy, kind=CredentialKind.GIT_TOKEN, username="alice")

    assert subject is not None
    assert (subject.is_admin, subject.amr) == (True, ())


# Licenses.


def test_license_proves_itself_and_no_person():
    assert subject_of(OPEN_LICENSE, kind=CredentialKind.LICENSE) == Subject(SubjectKind.LICENSE, 31)


def test_license_has_its_own_scope():
    subject = subject_of(OFFICE_LICENSE, kind=CredentialKind.LICENSE)

    assert subject is not None
    assert subject.may_enter(OFFICE)
    assert not subject.may_enter("shop.example")


def test_license_that_is_switched_off_proves_nobody():
    policy = a_policy(licenses=[replace(LICENSES[0], is_active=False)])

    assert subject_of(OPEN_LICENSE, policy, kind=CredentialKind.LICENSE) is None


@pytest.mark.parametrize(("seconds", "live"), [(-0.001, True), (0, False)])
def test_license_ends_at_its_expiry(seconds, live):
    subject = subject_of(OFFICE_LICENSE, kind=CredentialKind.LICENSE, at=NOW + DAY + seconds)

    assert (subject is not None) is live


# One kind in the place of another.


@pytest.mark.parametrize("kind", CredentialKind)
@pytest.mark.parametrize("secret", [BOBS_GIT_TOKEN, OPEN_LICENSE, a_session_token(BOB)], ids=["git", "license", "jwt"])
def test_each_kind_of_secret_is_accepted_in_its_own_place_only(kind, secret):
    places = {"gwg_": ("git-token", "git-basic"), "gwl_": ("license",), "eyJh": ("session-header", "session-cookie")}

    subject = subject_of(secret, kind=kind, username="Bob")

    assert (subject is not None) is (kind.value in places[secret[:4]])


def test_a_session_that_begins_in_the_future_is_logged_once_a_minute_with_the_fix(caplog):
    now = [0.0]
    verifier = VerifiedTokens(SessionVerifier(KEYS, issuer=ISSUER, audience=AUDIENCE))
    check = PolicyCredentials(
        verifier, VerifiedTokens(GuestVerifier(KEYS)), FutureSessions(monotonic=lambda: now[0]).log
    )
    hour = 3600
    token = a_session_token(BOB, iat=int(NOW) + hour, nbf=int(NOW) + hour, exp=int(NOW) + 2 * hour)

    for seconds in (0.0, 59.0, 61.0):
        now[0] = seconds
        assert subject_of(token, check=check) is None
    assert subject_of(a_session_token(BOB), check=check) == BOB_SUBJECT

    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert lines[0].startswith("session.future: a session was refused because it begins 3600 s in the future")
    assert "time server" in lines[0]
