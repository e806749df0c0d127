"""Share links: which requests a guest cookie lets in, and that links expire by the time of the request."""

from dataclasses import replace

import jwt
import pytest

from gatewall.credentials.check import guest_subject
from gatewall.credentials.guests import LIFETIME_SECONDS, GuestVerifier, cookie_for
from gatewall.credentials.keyring import KeyRing
from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.evaluate import evaluate
from gatewall.engine.hosts import Access
from gatewall.engine.model import CredentialKind, Reason, SubjectKind
from gatewall.engine.snapshot import ShareLinkState
from gatewall.engine.token_scope import TokenScope
from gatewall.gate.credentials import credentials_of, site_headers
from gatewall.gate.headers import cookies
from gatewall.gate.identity import identity_headers
from gatewall.gate.subrequest import auth
from tests.support.cast import (
    BOB,
    CHARLIE,
    DAY,
    HOUR,
    KEYS,
    NOW,
    OFFICE,
    STRANGERS_KEY,
    TRUSTED,
    a_credential_check,
    a_policy,
    a_ports,
    a_rule,
    a_session_token,
    a_subrequest,
    some_claims,
)
from tests.unit.rule_facts import SHOP, a_grant

DIGEST = "ab" * 32
LINK = ShareLinkState(51, DIGEST, SHOP, "/photos", frozenset({"GET", "HEAD"}), NOW + HOUR)
COOKIE = cookie_for(DIGEST, KEYS, NOW)
WHOLE = replace(LINK, path_prefix=None, methods=frozenset())


def test_a_guest_has_only_the_scope_of_the_link():
    guest = guest_subject(LINK, NOW)

    assert (guest.all_domains, guest.domains) == (False, {SHOP})
    assert guest.limits == TokenScope(False, frozenset({SHOP}), ("/photos",), frozenset({"GET", "HEAD"}))


def decide(uri="/photos/7", *, link=LINK, cookie=f"service.guest={COOKIE}", at=NOW, access="authenticated", **parts):
    """Return the decision about a request to the shop with these cookies."""
    headers = {
        "x_forwarded_for": "198.51.100.7",
        "x_forwarded_host": parts.pop("host", SHOP),
        "x_forwarded_method": parts.pop("method", "GET"),
        "x_forwarded_uri": uri,
        "cookie": cookie,
    }
    hidden = parts.pop("hidden", ())
    shown = {name: value for name, value in headers.items() if name not in hidden}
    domains = {OFFICE: "authenticated", SHOP: access, "other.example": "authenticated"}
    policy = a_policy(domains=domains, share_links=[link] if link else [], **parts)
    return evaluate(auth(a_subrequest(**shown), TRUSTED, at), policy, a_ports(credentials=a_credential_check()))


def test_a_guest_is_let_in_and_has_no_name():
    decision = decide()

    assert (decision.reason, decision.subject.kind, decision.subject.id) == (
        Reason.SHARE_LINK_VALID,
        SubjectKind.GUEST,
        51,
    )
    assert dict(identity_headers(decision)) == {
        "Remote-User": "",
        "Remote-Email": "",
        "Remote-Groups": "",
        "X-Gatewall-Subject-Kind": "guest",
    }


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"link": None}, Reason.CREDENTIAL_INVALID),
        ({"link": replace(LINK, digest="cd" * 32)}, Reason.CREDENTIAL_INVALID),
        ({"at": NOW + HOUR - 0.001}, Reason.SHARE_LINK_VALID),
        ({"at": NOW + HOUR}, Reason.CREDENTIAL_INVALID),
        ({"cookie": "service.guest="}, Reason.CREDENTIAL_MISSING),
        ({"cookie": f"x=service.guest; service.guest={COOKIE[:-2]}"}, Reason.CREDENTIAL_INVALID),
        ({"cookie": f"service.token={COOKIE}"}, Reason.CREDENTIAL_INVALID),
        ({"cookie": f"service.guest={a_session_token(BOB)}"}, Reason.CREDENTIAL_INVALID),
        ({"cookie": "; ".join([*["service.guest=x"] * 3, f"service.guest={COOKIE}"])}, Reason.SHARE_LINK_VALID),
        ({"cookie": "; ".join([*["service.guest=x"] * 4, f"service.guest={COOKIE}"])}, Reason.CREDENTIAL_INVALID),
        ({"host": "other.example"}, Reason.HOST_NOT_IN_SCOPE),
        ({"host": "unknown.example"}, Reason.HOST_NOT_IN_SCOPE),
        ({"method": "POST"}, Reason.HOST_NOT_IN_SCOPE),
        ({"method": "POST", "link": WHOLE}, Reason.SHARE_LINK_VALID),
        ({"hidden": ("x_forwarded_method",)}, Reason.HOST_NOT_IN_SCOPE),
        ({"uri": "/photos"}, Reason.SHARE_LINK_VALID),
        ({"uri": "/photosx"}, Reason.HOST_NOT_IN_SCOPE),
        ({"uri": "/photos/..%2fadmin"}, Reason.HOST_NOT_IN_SCOPE),
        ({"hidden": ("x_forwarded_uri",)}, Reason.HOST_NOT_IN_SCOPE),
        ({"uri": "/", "link": WHOLE}, Reason.SHARE_LINK_VALID),
        ({"access": "denied"}, Reason.HOST_NOT_AUTHORIZED),
        ({"access": "phishing_resistant"}, Reason.PHISHING_RESISTANT_REQUIRED),
        ({"access": "two_factor"}, Reason.SHARE_LINK_VALID),
        ({"blocked": ["198.51.100.7"]}, Reason.CLIENT_BLOCKED),
        ({"rules": [a_rule("attack")], "uri": "/photos?q=attack"}, Reason.WAF_RULE),
        ({"access_rules": [AccessRule(8, "closed", Access.DENIED)]}, Reason.ACCESS_DENIED),
        (
            {"access_rules": [AccessRule(8, "no guests", Access.DENIED, credential_kinds=frozenset({"guest"}))]},
            Reason.ACCESS_DENIED,
        ),
        ({"access_rules": [AccessRule(8, "more", Access.TWO_FACTOR)]}, Reason.SECOND_FACTOR_REQUIRED),
    ],
)
def test_a_share_link_opens_its_site_unless_another_step_decides(parts, reason):
    assert decide(**parts).reason is reason


@pytest.mark.parametrize(
    ("user", "parts", "kind", "reason"),
    [
        (BOB, {}, SubjectKind.USER, Reason.SESSION_VALID),
        (CHARLIE, {}, SubjectKind.GUEST, Reason.SHARE_LINK_VALID),
        (CHARLIE, {"grants": [a_grant(user_id=CHARLIE.id)]}, SubjectKind.USER, Reason.GRANT_VALID),
        (CHARLIE, {"link": replace(LINK, domain="other.example")}, SubjectKind.USER, Reason.HOST_NOT_IN_SCOPE),
        (CHARLIE, {"link": None}, SubjectKind.USER, Reason.HOST_NOT_IN_SCOPE),
    ],
)
def test_a_session_counts_first_where_it_may_enter(user, parts, kind, reason):
    decision = decide(cookie=f"service.guest={COOKIE}; service.token={a_session_token(user)}", **parts)

    assert (decision.subject.kind, decision.reason) == (kind, reason)


GOOD = {"typ": "guest", "sub": DIGEST}


@pytest.mark.parametrize(
    "claims",
    [
        {"typ": "session"},
        {"typ": None},
        {"sub": 7},
        {"aud": "api"},
        {"iss": "another"},
        {"exp": "soon"},
        {"iat": True},
        {"nbf": -1},
    ],
    ids=str,
)
def test_other_tokens_are_no_cookies_of_guests(claims):
    def signed(key, **changed):
        return jwt.encode(some_claims(**{**GOOD, **changed}), key.secret, "HS256", headers={"kid": key.kid})

    verifier = GuestVerifier(KEYS)
    assert verifier.verify(signed(KEYS.signing)).digest == DIGEST
    assert verifier.verify(signed(STRANGERS_KEY)) is None
    assert verifier.verify(signed(KEYS.signing, **claims)) is None


def test_a_cookie_begins_and_ends_and_outlives_a_rotation_of_keys():
    claims = GuestVerifier(KEYS).verify(cookie_for(DIGEST, KeyRing(KEYS.keys[1:]), NOW))

    assert [claims.in_force(NOW + after) for after in (-61, -60, LIFETIME_SECONDS - 1, LIFETIME_SECONDS)] == [
        *(False, True, True, False)
    ]
    assert LIFETIME_SECONDS == 30 * DAY


def test_a_guest_cookie_is_tried_last_and_never_reaches_the_site():
    headers = {"cookie": f'a=b; service.guest="{COOKIE}"; service.token=x', "service-license": "gwl_x"}

    sent = credentials_of(headers, cookies(headers))

    assert [each.kind for each in sent] == [
        *(CredentialKind.SESSION_COOKIE, CredentialKind.LICENSE, CredentialKind.GUEST_COOKIE)
    ]
    assert sent[-1].secret == COOKIE
    assert dict(site_headers(headers))["Cookie"] == "a=b"
    assert dict(site_headers({"cookie": f"a=b, Service.Guest={COOKIE}; c=d"}))["Cookie"] == "a=b; c=d"
    assert "guest" not in str(auth(a_subrequest(**headers), TRUSTED, NOW).cookies)
