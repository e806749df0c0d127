"""The regular expression that reads our session tokens' payloads gives the same claims as the JSON parser."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from accounts import tokens
from gatewall.credentials import base64url, sessions
from gatewall.credentials.sessions import SessionVerifier, read_claims, verify_payload
from tests.support.cast import AUDIENCE, BOB, ISSUER, KEYS, some_claims
from tests.unit.forgeries import GOOD, signed

VERIFIER = SessionVerifier(KEYS, issuer=ISSUER, audience=AUDIENCE)
FIELDS = {
    "typ": ['"session"', '"guest"', '"session" '],
    "exp": ["1795891652", "0", "01", "99999999999", "253402300800", "1.5", "-1", "null", "true", "1e9"],
    "iat": ["1795870052", "1795870053", "0", '"1"', "\u0661"],
    "jti": ['"868130d5-52f3-4174-853b-5a0859a3a650"', '""', '"a\\u0062"', '"a b"', "7", '"\xe4"', '"a","jti":"b"'],
    "nbf": ["1795870052", "179587005200", "[]"],
    "sub": ['"245"', '"0"', '"007"', '""', "245", '"1' + "0" * 17 + '"', '"1' + "0" * 18 + '"', '"\u0662"'],
    "sv": ["1", "0", "01", "-1", "1.0", "true", "9" * 18, "9" * 30],
    "amr": ['["pwd"]', '["pwd","otp"]', "[]", '["pwd",1]', '["a\\"b"]', '["pwd", "otp"]', '"pwd"', '["PWD"]'],
    "aud": [
        '"gate"',
        '["gate","api"]',
        '["api","gate"]',
        '"api"',
        '["api"]',
        "[]",
        '["gate",1]',
        '"gates"',
        '["agate"]',
    ],
    "iss": ['"gatewall"', '"elsewhere"', '"gatewall","sv":2', '"gatewall","x":[{}]'],
}


@st.composite
def payloads(draw):
    """Draw a payload that differs little from ours."""
    fields = {name: values[0] for name, values in FIELDS.items()}
    for name in draw(st.lists(st.sampled_from(sorted(FIELDS)), max_size=2)):
        fields[name] = draw(st.sampled_from(FIELDS[name]))
    names = draw(st.permutations(list(fields))) if draw(st.integers(0, 9)) == 0 else list(fields)
    kept = [name for name in names if draw(st.integers(0, 49))]
    text = "{" + ",".join([f'"{name}":{fields[name]}' for name in kept]) + "}"
    return text + draw(st.sampled_from(["", "", "", "", "\n", " ", "{}"]))


def token_of(payload):
    return signed(HEADER_BYTES, payload.encode())


HEADER_BYTES = base64url.decode(GOOD.split(".")[0])


@given(payload=payloads())
def test_claims_are_those_that_the_parser_reads(payload):
    token = token_of(payload)

    assert VERIFIER.verify(token) == parsed(token)


def parsed(token):
    payload = verify_payload(token, KEYS, issuer=ISSUER, audience=AUDIENCE)
    return None if payload is None else read_claims(payload)


@pytest.mark.parametrize("name", FIELDS)
def test_each_value_of_one_or_two_claims_is_what_the_parser_reads(name):
    usual = {each: values[0] for each, values in FIELDS.items()}
    fields = [
        usual | {name: value, other: beside} for value in FIELDS[name] for other in FIELDS for beside in FIELDS[other]
    ]
    texts = ["{" + ",".join([f'"{each}":{value}' for each, value in one.items()]) + "}" for one in fields]

    differing = [text for text in texts if VERIFIER.verify(token_of(text)) != parsed(token_of(text))]

    assert differing == []


WRONG = {"typ": "guest", "iss": "elsewhere", "aud": ["api"], "sub": "", "exp": 253_402_300_800, "sv": True}


@pytest.mark.parametrize("name", [None, *WRONG])
def test_a_token_in_our_format_with_one_wrong_claim_is_refused(name):
    claims = some_claims(BOB) | ({name: WRONG[name]} if name else {})
    token = token_of(json.dumps(claims, separators=(",", ":")))

    assert (VERIFIER.verify(token) is None) == (name is not None)


@pytest.mark.parametrize("end", [" ", "\n", "\0", "x", "{}", ',"sv":2}'])
def test_text_after_a_payload_gives_the_same_result_as_the_parser(end):
    token = token_of(json.dumps(some_claims(BOB), separators=(",", ":")) + end)

    assert VERIFIER.verify(token) == parsed(token)
    assert (VERIFIER.verify(token) is None) == bool(end.strip())


@pytest.mark.parametrize("audiences", [["gate"], ["gate", "api"]])
@pytest.mark.parametrize("amr", [["pwd"], ["pwd", "otp"]])
def test_tokens_that_we_issue_are_not_parsed(monkeypatch, amr, audiences):
    sent = {"user_id": 7, "session_version": 1, "amr": amr, "audiences": audiences}
    token = tokens.issue(**sent, at=datetime.now(UTC), lifetime=timedelta(hours=1))
    verifier = SessionVerifier(settings.GATEWALL_JWT_KEYS, issuer=ISSUER, audience=AUDIENCE)
    monkeypatch.setattr(sessions, "_payload_in", lambda *_: pytest.fail("it was parsed"))

    claims = verifier.verify(token.text)

    assert (claims.user_id, claims.jti, claims.amr) == (7, str(token.jti), tuple(amr))
