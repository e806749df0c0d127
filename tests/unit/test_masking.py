"""Secrets that are recognizable by name, format or place are masked in targets, headers and hosts."""

import sys
import time
from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.spool.masking import masked_host, masked_path, masked_query, masked_text
from audit.spool.records import PATH, QUERY, USER_AGENT
from gatewall.gate.record import masked
from tests.support.cast import BOBS_GIT_TOKEN, OPEN_LICENSE, a_session_token

SECRET_NAMES = [
    "access_token", "api_key", "apikey", "auth", "authorization", "client_secret", "code", "id_token", "jwt", "key",
    "license", "otp", "pass", "passwd", "password", "private_token", "pwd", "refresh_token", "secret", "session",
    "sessionid", "sig", "signature", "token", "totp", "X-Amz-Signature", "current_password", "recovery_key",
    "challenge_token", "SAMLResponse", "accessToken", "service.token",
]  # fmt: skip
TOKENS = {"git token": BOBS_GIT_TOKEN, "license": OPEN_LICENSE, "session": a_session_token()}


def encoded(text):
    return "".join(f"%{ord(letter):02x}" for letter in text)


SPELLINGS = {
    "as it is": lambda name: name,
    "capitals": str.upper,
    "title case": str.title,
    "encoded": encoded,
    "encoded in capitals": lambda name: encoded(name).upper(),
    "one letter encoded": lambda name: encoded(name[0]) + name[1:],
    "encoded twice": lambda name: encoded(name).replace("%", "%25"),
    "encoded three times": lambda name: encoded(name).replace("%", "%2525"),
    "hyphen for underscore": lambda name: name.replace("_", "-"),
    "encoded hyphen": lambda name: name.replace("_", "%2D"),
    "no underscore": lambda name: name.replace("_", ""),
    "space around": lambda name: f"+{name}%20",
    "in a list": lambda name: f"user[{name}]",
    "in an encoded list": lambda name: f"user%5B{name}%5D[]",
    "of an object": lambda name: f"user.{name}",
    "encoded of an object": lambda name: f"user%2E{name}.value",
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("name", SECRET_NAMES)
def test_the_value_of_a_secret_name_is_masked(name, spelling):
    sent = spelling(name)

    assert masked_query(f"a=1&{sent}=canary&b=2") == f"a=1&{sent}=***&b=2"


@pytest.mark.parametrize(
    "query",
    [
        "token=canary",
        "a&token=canary",
        "token=a=canary",
        "token=canary&token=canary",
        "a=1;token=canary",
        "token=x;canary",
        "token=x;y=canary",
        "rd=https%3A%2F%2Foffice.example%2F%3Ftoken%3Dcanary",
        "rd=https%253A%252F%252Foffice.example%252F%253Fa%253D1%2526token%253Dcanary",
        "rd=/path?a=1%26password=canary",
        "a%3D1%26token%3Dcanary",
        "token%3Dcanary=1",
        "next=https://bob:canary@office.example/",
        "next=https%3A%2F%2Fbob%3Acanary%40office.example%2F",
        "next=bob:canary@office.example",
        "next=//:canary@office.example",
        "a=password=canary",
    ],
)
def test_a_secret_is_masked_in_any_position(query):
    assert "canary" not in masked_query(query)


@pytest.mark.parametrize(
    "query",
    [
        *("", "a", "token", "token=", "q=token", "max_tokens=1", "n_tokens=1", "a=%74oken&b", "&&", "=x", "a=1;b=2"),
        *("mail=bob@office.example", "at=12:30", "a=b:c", "u=https://office.example/?q=1", "a=eyjafjallajokull.jpg"),
        *("\xff%ff%zz=\x80", "a=%", "q=a+b", "x=https%3A%2F%2Foffice.example%2F"),
    ],
)
def test_harmless_queries_are_unchanged(query):
    assert masked_query(query) == query


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize("spelling", [str, encoded, lambda text: encoded(text).replace("%", "%25")])
@pytest.mark.parametrize(
    ("mask", "text"),
    [
        (masked_query, "harmless={}"),
        (masked_query, "{}"),
        (masked_query, "a=1&b=x+{}&c"),
        (masked_query, "{}=1"),
        (masked_path, "/clone/{}/info/refs"),
        (masked_path, "/{}"),
        (masked_path, "/a;{}=x/b"),
        (masked_path, "//bob:{}@office.example/repository.git"),
        (masked_text, "git/2.43 {} (linux)"),
        (masked_text, "git/2.43 (token={})"),
    ],
)
def test_a_token_is_masked_under_any_name(token, spelling, mask, text):
    sent = spelling(token)

    shown = mask(text.format(sent))

    assert "***" in shown
    assert not any(part in shown for part in (token, sent, token[10:30]))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/proxy/https://bob:canary@office.example/x", "/proxy/https://***/x"),
        ("/proxy/https:/bob:canary@office.example/x", "/proxy/https:/***/x"),
        ("/bob%3Acanary%40office.example/x", "/***/x"),
        ("/app;jsessionid=canary", "/app;***"),
        ("/app;v=1;token=canary/x", "/app;***/x"),
        ("/app%3Btoken%3Dcanary/x", "/***/x"),
        ("/reset/token=canary", "/reset/***"),
    ],
)
def test_a_secret_in_a_path_is_masked(path, shown):
    assert masked_path(path) == shown


@pytest.mark.parametrize(
    "path",
    ["/", "", "*", "/a/b%20c", "/@scope/name@1.2", "/a;v=1/b", "/v2/x/manifests/sha256:ab", "/a=1", "/~bob@work", "/%"],
)
def test_harmless_paths_are_unchanged(path):
    assert masked_path(path) == path


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("curl/8", "curl/8"),
        ("bot (contact: bob@office.example; +https://office.example/)",) * 2,
        ("fetch https://bob:canary@office.example/", "fetch https://***@office.example/"),
        ("curl/8 password=canary", "***"),
        ("fetch https%3A//bob%3Acanary%40office.example/", "***"),
    ],
)
def test_free_text_loses_its_secrets_alone(text, shown):
    assert masked_text(text) == shown


def test_a_token_in_a_host_name_is_masked():
    assert masked_host(f"{BOBS_GIT_TOKEN.lower()}.office.example") == "***.office.example"
    assert masked_host("gw.office.example") == "gw.office.example"


HOSTILE = [
    *("ghp_" * 4000, "glpat-" * 2500, "sk-/" * 4000, "AKIA/" * 3200, "aB" * 8000, "xoxb-a." * 2500, "_token" * 2700),
    *("a:=" * 6000, ":" * 16_000, "eyJ" * 5000, "eyJ.eyJ" * 2000, "gwg_" * 4000, "a:b" * 5000 + " ", "%25" * 5000),
    *("=&" * 8000, ";token" * 2500, "[" * 16_000, "a;" * 8000, "/a:b" * 4000, "@" * 16_000, "?a" * 8000, "-" * 16_000),
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("mask", [masked_query, masked_path, masked_text, masked_host])
def test_hostile_text_costs_no_more_than_its_length(mask, text):
    began = time.process_time()

    mask(text)
    mask(f"a={text}")

    assert time.process_time() - began < 0.5


@given(st.text(st.characters(max_codepoint=255), max_size=40), st.sampled_from(list(TOKENS.values())))
def test_a_token_is_masked_after_any_prefix_in_its_argument(before, token):
    text = "".join(letter for letter in before if letter.isascii() and not letter.isalnum() and letter not in "_-%")

    assert token[10:30] not in masked_query(f"a={text}{token}")


def test_base64_of_a_secret_under_a_secret_name_is_masked_too():
    assert "Y2FuYXJ5" not in masked_query(f"auth={urlsafe_b64encode(b'canary').decode()}")


HOSTILE = [
    "ghp_ sk_ AKIA xox-", "%61=%62&", "eyJ.", "eyJhbGciOiJIUzI1NiJ9.", "/a;b=c", "%22a%22:1&", "a;b@c=", "a:b@", "a=1;",
    "a" * 190 + "=x&", '"a":1,', "http://a?b=c&", "gw_", "a%253D%2525",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("mask", [masked_query, masked_path, masked_text])
def test_hostile_text_is_masked_in_a_bounded_number_of_calls(mask, unit):
    calls = 0

    def note(frame, event, argument):
        nonlocal calls
        calls += event in {"call", "c_call"}

    text = (unit * 4_096)[:4_096]
    sys.setprofile(note)
    try:
        mask(text)
    finally:
        sys.setprofile(None)

    assert calls < 30_000


def test_text_beyond_the_bounds_is_masked_as_a_whole():
    arguments = "&".join(f"a{number}=%20" for number in range(40))

    assert masked_query(arguments).endswith("a31=%20&***")
    assert masked_path("/" + "a;b/" * 40).endswith("/a;b/***")
    assert masked_query("a=%20" + ";b=1" * 70) == "***"
    assert masked_text("x?" + "&".join(["b=1"] * 70)) == "***"
    assert masked_text('{"x":1} ' * 70) == "***"
    assert masked_text("a:b@c " * 24 + "d@ secret") == "***@c " * 24 + "***"
    assert masked_text("ghp_ " * 25 + "secret") == "ghp_ " * 24 + "***"


@pytest.mark.parametrize(
    "name", ["api_key", "user%5Bpassword%5D", "%70ass%77ord", "%2570assword", "a%pin", "%zz_token"]
)
@pytest.mark.parametrize("filler", ["%41", "a", "%zz", "%2541", "\xff", "\\x41"])
def test_secret_name_in_a_long_argument_is_masked(name, filler):
    assert "canary" not in masked_query(f"q={filler * 200}%26{name}%3Dcanary")
    assert "canary" not in masked_text(f"{filler * 200}&{name}=canary")


def test_long_harmless_argument_is_unchanged():
    for text in ("%41" * 200, "a%20b+" * 60, "%" * 60 + "a" * 300, "\u4e2d" * 300):
        assert masked_query(f"q={text}") == f"q={text}"


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_of_a_record_is_masked_in_few_calls(unit):
    """Path, query and user agent together."""
    calls = 0

    def note(frame, event, argument):
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(note)
    try:
        for field in (PATH, QUERY, USER_AGENT):
            masked(field, unit * 16_384)
    finally:
        sys.setprofile(None)

    assert calls < 12_000


def test_token_in_a_secret_name_is_masked_too():
    for name in (f"{BOBS_GIT_TOKEN}_password", f"a;{BOBS_GIT_TOKEN}_password", f"%61{BOBS_GIT_TOKEN}_password"):
        assert BOBS_GIT_TOKEN not in masked_query(f"{name}=canary")
