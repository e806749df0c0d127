"""The signed identity of a decision: its claims, its reuse, and decisions without one."""

import json
from dataclasses import replace

import pytest
from joserfc import jwt
from joserfc.errors import ExpiredTokenError, InvalidClaimError
from joserfc.jwk import KeySet

from gatewall.credentials.identity_keys import IdentityKeys
from gatewall.engine.hosts import Authority
from gatewall.engine.model import Effect, Reason, SubjectKind
from gatewall.engine.token_scope import TokenScope
from gatewall.gate import signed_identity
from gatewall.gate.gate import Dialect
from gatewall.gate.signed_identity import HEADER, LIFETIME_SECONDS, REUSE_SECONDS, SignedIdentities
from gatewall.gate.subrequest import auth, forward
from tests.support.cast import (
    ALICE_SUBJECT,
    BOB,
    BOB_SUBJECT,
    GIT_SUBJECT,
    KEYS,
    LICENSE_SUBJECT,
    NOW,
    OFFICE,
    PROXY,
    a_decision,
    a_policy,
    a_request,
    a_session_token,
    a_subrequest,
)
from tests.unit.test_gate import Policies, a_gate

pytestmark = pytest.mark.filterwarnings("ignore:EdDSA is deprecated")  # RFC 9864; sites know this name
IDENTITY_KEYS = IdentityKeys(KEYS)
HOME = "https://home.example"
EACH_ALGORITHM = pytest.mark.parametrize("algorithm", ["EdDSA", "ES256"])
ASKED = {
    "x_forwarded_for": "1.2.3.4",
    "x_forwarded_host": OFFICE,
    "x_forwarded_proto": "https",
    "x_forwarded_method": "GET",
    "x_forwarded_uri": "/",
}


def a_signed_policy(algorithm="EdDSA", **parts):
    return a_policy(signed_identity=algorithm, **parts)


def at_office(**parts):
    return a_request(scheme="https", **parts)


def token_of(signed, subject=BOB_SUBJECT, request=None, policy=None):
    """Return the token that a decision for this subject gets; "" without one."""
    decision = a_decision(subject=subject)
    return dict(signed.headers(decision, request or at_office(), policy or a_signed_policy())).get(HEADER, "")


def claims_of(token):
    """Return the claims, verified by another library from the published key set."""
    keys = KeySet.import_key_set(json.loads(IDENTITY_KEYS.key_set))
    return jwt.decode(token, keys, algorithms=["EdDSA", "ES256"]).claims


@EACH_ALGORITHM
def test_claims_of_a_user_name_site_groups_and_factors(algorithm):
    signed = SignedIdentities(IDENTITY_KEYS, HOME)

    claims = claims_of(token_of(signed, replace(ALICE_SUBJECT, groups=("staff", "a"))))

    assert claims == {
        "iss": HOME,
        "aud": f"https://{OFFICE}",
        "iat": int(NOW),
        "exp": int(NOW) + LIFETIME_SECONDS,
        "sub": "1",
        "preferred_username": "alice",
        "email": "alice@office.example",
        "groups": ["a", "admins", "staff"],
        "amr": ["pwd"],
        "subject_kind": "user",
    }


def test_claims_of_a_git_token_name_its_user_and_those_of_a_license_nobody():
    signed = SignedIdentities(IDENTITY_KEYS, HOME)

    git, license_ = (claims_of(token_of(signed, subject)) for subject in (GIT_SUBJECT, LICENSE_SUBJECT))

    assert (git["sub"], git["preferred_username"], git["amr"], git["subject_kind"]) == ("2", "Bob", [], "git-token")
    who = {name: value for name, value in license_.items() if name not in {"iss", "aud", "iat", "exp"}}
    assert who == {"sub": "license:31", "subject_kind": "license"}


def test_user_without_an_address_has_no_email_claim():
    assert "email" not in claims_of(token_of(SignedIdentities(IDENTITY_KEYS), replace(BOB_SUBJECT, email="")))


@pytest.mark.parametrize(
    ("scheme", "authority", "site"),
    [
        ("https", "office.example", "https://office.example"),
        ("https", "office.example:443", "https://office.example"),
        ("http", "office.example:80", "http://office.example"),
        ("https", "office.example:80", "https://office.example:80"),
        ("https", "office.example:8443", "https://office.example:8443"),
    ],
)
def test_audience_is_the_origin_of_the_site_and_without_a_public_url_the_issuer_too(scheme, authority, site):
    request = a_request(host=authority, scheme=scheme)

    claims = claims_of(token_of(SignedIdentities(IDENTITY_KEYS), request=request))

    assert (claims["aud"], claims["iss"]) == (site, site)


def test_site_can_refuse_an_expired_token_and_one_for_another_site():
    claims = claims_of(token_of(SignedIdentities(IDENTITY_KEYS, HOME)))
    ours = {"essential": True, "value": f"https://{OFFICE}"}

    jwt.JWTClaimsRegistry(now=int(NOW) + LIFETIME_SECONDS - 1, aud=ours).validate(claims)
    with pytest.raises(ExpiredTokenError):
        jwt.JWTClaimsRegistry(now=int(NOW) + LIFETIME_SECONDS + 1, aud=ours).validate(claims)
    with pytest.raises(InvalidClaimError):
        jwt.JWTClaimsRegistry(now=int(NOW), aud={"value": "https://other.example"}).validate(claims)


def test_no_token_is_sent_if_off_or_without_a_subject_or_host():
    signed = SignedIdentities(IDENTITY_KEYS)

    assert token_of(signed, policy=a_policy()) == ""
    assert token_of(signed, subject=None) == ""
    assert token_of(signed, request=a_request(host=None)) == ""


# Reuse.


def test_alternating_subjects_are_signed_once_each(monkeypatch):
    signed, made = SignedIdentities(IDENTITY_KEYS), []
    monkeypatch.setattr(IDENTITY_KEYS, "sign", lambda claims, _: made.append(claims) or str(len(made)))
    app = replace(GIT_SUBJECT, kind=SubjectKind.APP_TOKEN, limits=TokenScope(all_domains=True))
    subjects = [BOB_SUBJECT, replace(BOB_SUBJECT, amr=("pwd", "otp")), GIT_SUBJECT, app, LICENSE_SUBJECT]

    first, again = ([token_of(signed, replace(subject)) for subject in subjects] for _ in range(2))

    assert first == again == ["1", "2", "3", "4", "5"]


def test_token_of_another_algorithm_is_not_reused():
    signed = SignedIdentities(IDENTITY_KEYS)

    assert token_of(signed) != token_of(signed, policy=a_signed_policy("ES256"))


def test_token_is_reused_for_thirty_seconds_per_subject_and_site():
    signed = SignedIdentities(IDENTITY_KEYS)
    first = token_of(signed)

    assert token_of(signed, request=replace(at_office(), at=NOW + REUSE_SECONDS - 1, uri="/other")) == first
    assert token_of(signed, ALICE_SUBJECT) != first
    assert token_of(signed, request=replace(at_office(), authority=Authority.parse("other.example"))) != first
    assert token_of(signed, request=replace(at_office(), scheme="http")) != first
    assert token_of(signed, policy=a_signed_policy("ES256")) != first
    later = token_of(signed, request=replace(at_office(), at=NOW + REUSE_SECONDS))
    assert claims_of(later)["iat"] == int(NOW) + REUSE_SECONDS


def test_token_from_the_future_is_not_reused_when_the_clock_was_put_back():
    signed = SignedIdentities(IDENTITY_KEYS)
    token_of(signed, request=replace(at_office(), at=NOW + 100))

    assert claims_of(token_of(signed))["iat"] == int(NOW)


@pytest.mark.parametrize(
    "change", [{"groups": ("new",)}, {"email": "b@new.example"}, {"name": "Robert"}, {"is_admin": True}, {"amr": ()}]
)
def test_change_of_the_subject_is_in_the_next_token(change):
    signed = SignedIdentities(IDENTITY_KEYS)
    before = claims_of(token_of(signed))

    assert claims_of(token_of(signed, replace(BOB_SUBJECT, **change))) != before


def test_remembered_tokens_are_bounded(monkeypatch):
    monkeypatch.setattr(signed_identity, "_REMEMBERED", 3)
    signed = SignedIdentities(IDENTITY_KEYS)

    for port in range(1, 9):
        token_of(signed, request=replace(at_office(), authority=Authority.parse(f"{OFFICE}:{port}")))

    assert len(signed._tokens) <= 3


# The gate.


def signing_gate(policy):
    gate = a_gate(Policies(policy))
    gate.identities = SignedIdentities(IDENTITY_KEYS, HOME)
    return gate


def identity_sent(gate, dialect=auth, **headers):
    given = gate.check(
        Dialect(dialect, cuts_credentials=dialect is forward), a_subrequest(peer=PROXY, **ASKED, **headers)
    )
    return given.status, dict(given.headers).get(HEADER)


@pytest.mark.parametrize("dialect", [auth, forward])
def test_gate_sends_the_token_of_an_admitted_subject(dialect):
    status, token = identity_sent(signing_gate(a_signed_policy()), dialect, service_authorization=a_session_token(BOB))

    assert (status, claims_of(token)["preferred_username"]) == (200, "Bob")


def test_gate_sends_no_token_to_strangers_refused_subjects_or_without_the_setting():
    public = a_signed_policy(domains={OFFICE: "public"})
    session = {"service_authorization": a_session_token(BOB)}
    nobody = {"users": ()}

    assert identity_sent(signing_gate(public)) == (200, None)
    assert identity_sent(signing_gate(a_signed_policy())) == (401, None)
    assert identity_sent(signing_gate(a_signed_policy(**nobody)), **session) == (401, None)
    assert identity_sent(signing_gate(a_policy()), **session) == (200, None)
    assert identity_sent(a_gate(Policies(a_signed_policy())), **session) == (200, None)


def test_refusal_of_a_known_subject_has_no_token():
    decision = a_decision(Reason.HOST_NOT_IN_SCOPE, effect=Effect.DENY, subject=BOB_SUBJECT)
    policy = a_signed_policy(domains={OFFICE: "denied"})

    assert decision.subject is not None
    assert identity_sent(signing_gate(policy), service_authorization=a_session_token(BOB)) == (403, None)


@pytest.mark.parametrize(("method", "status"), [("GET", 200), ("HEAD", 200), ("POST", 405)])
def test_key_set_is_read_only_and_may_be_cached(method, status):
    given = signing_gate(a_policy()).key_set(method)

    assert given.status == status
    if status == 200:
        assert dict(given.headers)["Cache-Control"] == "public, max-age=300"
        assert given.body == IDENTITY_KEYS.key_set


def test_gate_without_keys_has_no_key_set():
    assert a_gate().key_set("GET").status == 404
