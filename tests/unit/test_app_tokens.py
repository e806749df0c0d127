"""App tokens: how they are sent, which user they authenticate, and which domains and paths they open."""

import base64
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.credentials.machine import digest_of
from gatewall.engine.destinations import path_readings_of
from gatewall.engine.devices import is_program, program_of
from gatewall.engine.evaluate import evaluate
from gatewall.engine.model import Credential, CredentialKind, Reason
from gatewall.gate.credentials import credentials_of, site_credentials, site_headers
from gatewall.gate.subrequest import auth
from tests.support.cast import (
    ALICE,
    ALICES_APP_TOKEN,
    APP_TOKENS,
    BOB,
    BOBS_APP_TOKEN,
    DAY,
    NOW,
    OFFICE,
    TRUSTED,
    a_credential_check,
    a_policy,
    a_ports,
    a_request,
    a_subrequest,
)
from tests.unit.rule_facts import an_access_rule

BASIC, BEARER, HEADER = CredentialKind.APP_BASIC, CredentialKind.APP_BEARER, CredentialKind.APP_HEADER
SEEN = frozenset({"uri", "method", "for"})


def basic(name, token):
    return "Basic " + base64.b64encode(f"{name}:{token}".encode()).decode()


def reason(uri="/", *, token=ALICES_APP_TOKEN, kind=BEARER, username="", header="", host=OFFICE, at=NOW, **policy):
    """Return the reason of the answer to a request with this token; alice's token is for /dav at the office."""
    visible = policy.pop("visible", SEEN)
    headers = {
        "x_forwarded_for": "198.51.100.7",
        "x_forwarded_host": host,
        "x_forwarded_method": policy.pop("method", "GET"),
        **({"destination": policy.pop("destination")} if "destination" in policy else {}),
        "x_forwarded_uri": uri,
    }
    request = auth(a_subrequest(**headers), TRUSTED, at)
    sent = (Credential(kind, token, username, header),)
    ports = a_ports(credentials=a_credential_check())
    decided = evaluate(replace(request, credentials=sent, visible=visible), a_policy(**policy), ports)
    return decided.reason


OF_OFFICE = {"domains": {OFFICE: "authenticated", "shop.example": "authenticated"}}


@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        ({"authorization": basic("Bob", BOBS_APP_TOKEN)}, Credential(BASIC, BOBS_APP_TOKEN, "Bob")),
        ({"authorization": f"Bearer {BOBS_APP_TOKEN}"}, Credential(BEARER, BOBS_APP_TOKEN)),
        ({"authorization": f"bearer  {BOBS_APP_TOKEN}"}, Credential(BEARER, BOBS_APP_TOKEN)),
        ({"x-emby-token": BOBS_APP_TOKEN}, Credential(HEADER, BOBS_APP_TOKEN, header="x-emby-token")),
    ],
    ids=["Basic", "Bearer", "case and spaces", "own header"],
)
def test_an_app_token_can_be_sent_in_three_ways(headers, sent):
    assert credentials_of(headers, ()) == (sent,)


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer of-the-site"},
        {"authorization": basic("Bob", "gwa_of-the-api")},
        {"x-api-key": "of-the-site"},
        {"proxy-authorization": BOBS_APP_TOKEN},
        {"user-agent": BOBS_APP_TOKEN},
    ],
    ids=["another bearer", "another password", "another key", "proxy", "usual header"],
)
def test_other_headers_carry_no_app_token(headers):
    assert credentials_of(headers, ()) == ()


@pytest.mark.parametrize("value", [basic("Bob", BOBS_APP_TOKEN), f"Bearer {BOBS_APP_TOKEN}", BOBS_APP_TOKEN])
def test_the_site_and_the_waf_do_not_see_it(value):
    assert site_headers({"authorization": value}) == (("Authorization", ""),)
    assert site_credentials({"authorization": value}) == ()


def test_the_waf_does_not_see_the_header_that_has_it():
    request = auth(a_subrequest(x_emby_token=BOBS_APP_TOKEN, x_other="kept"), TRUSTED, NOW)

    assert (request.header("x-emby-token"), request.header("x-other")) == ("", "kept")


def test_an_app_token_authenticates_its_user_without_a_sign_in():
    subject = a_credential_check().subject_of(Credential(BASIC, BOBS_APP_TOKEN, "bob"), a_policy(), NOW)

    assert subject is not None
    assert (subject.kind, subject.id, subject.name, subject.user_id, subject.amr) == ("app-token", 41, "Bob", 2, ())


@pytest.mark.parametrize(
    ("token", "username"),
    [(BOBS_APP_TOKEN, "alice"), (BOBS_APP_TOKEN[:-1] + "x", "Bob"), (BOBS_APP_TOKEN.replace("gwp", "gwg"), "Bob")],
    ids=["another user", "typing error", "another kind"],
)
def test_an_app_token_with_a_wrong_secret_or_username_authenticates_nobody(token, username):
    assert a_credential_check().subject_of(Credential(BASIC, token, username), a_policy(), NOW) is None


@pytest.mark.parametrize(
    "policy",
    [
        {"app_tokens": ()},
        {"users": (replace(ALICE, is_active=False),)},
        {"users": (BOB,)},
    ],
    ids=["deleted", "user disabled", "user deleted"],
)
def test_a_revoked_app_token_is_invalid(policy):
    assert reason("/dav", **OF_OFFICE, **policy) is Reason.CREDENTIAL_INVALID


@pytest.mark.parametrize(("seconds", "told"), [(-1, Reason.APP_TOKEN_VALID), (0, Reason.CREDENTIAL_INVALID)])
def test_an_app_token_ends_at_its_expiry(seconds, told):
    assert reason("/dav", at=NOW + DAY + seconds, **OF_OFFICE) is told


@pytest.mark.parametrize(
    ("uri", "host", "told"),
    [
        ("/dav", OFFICE, Reason.APP_TOKEN_VALID),
        ("/dav/files?a=/", OFFICE, Reason.APP_TOKEN_VALID),
        ("/david", OFFICE, Reason.HOST_NOT_IN_SCOPE),
        ("/", OFFICE, Reason.HOST_NOT_IN_SCOPE),
        ("/dav/../admin", OFFICE, Reason.HOST_NOT_IN_SCOPE),
        ("/dav/%2e%2e/admin", OFFICE, Reason.HOST_NOT_IN_SCOPE),
        ("/dav/..%252f..%252fadmin", OFFICE, Reason.HOST_NOT_IN_SCOPE),
        ("/dav;/../admin", OFFICE, Reason.HOST_NOT_IN_SCOPE),
        ("/dav", "shop.example", Reason.HOST_NOT_IN_SCOPE),
        ("/dav", "unknown.example", Reason.HOST_NOT_IN_SCOPE),
    ],
)
def test_an_app_token_opens_its_domains_and_paths_by_every_reading(uri, host, told):
    assert reason(uri, host=host, **OF_OFFICE) is told


TO = f"http://{OFFICE}/dav"


@pytest.mark.parametrize("method", ["COPY", "MOVE"])
@pytest.mark.parametrize(
    ("destination", "told"),
    [
        ("/dav/b", Reason.APP_TOKEN_VALID),
        (f"{TO}/b%20c", Reason.APP_TOKEN_VALID),
        (f"HTTPS://{OFFICE}:8443/dav/b", Reason.APP_TOKEN_VALID),
        (TO, Reason.APP_TOKEN_VALID),
        ("/private/b", Reason.HOST_NOT_IN_SCOPE),
        (f"http://{OFFICE}/private/b", Reason.HOST_NOT_IN_SCOPE),
        (f"http://{OFFICE}", Reason.HOST_NOT_IN_SCOPE),
        (f"{TO}/../private/b", Reason.HOST_NOT_IN_SCOPE),
        (f"{TO}/%2e%2e/private/b", Reason.HOST_NOT_IN_SCOPE),
        (f"{TO}/..\\private\\b", Reason.HOST_NOT_IN_SCOPE),
        ("http://shop.example/dav/b", Reason.HOST_NOT_IN_SCOPE),
        (f"http://user@{OFFICE}/dav/b", Reason.HOST_NOT_IN_SCOPE),
        (f"http://{OFFICE}\\private/dav", Reason.HOST_NOT_IN_SCOPE),
        ("//shop.example/dav/b", Reason.HOST_NOT_IN_SCOPE),
        ("http:/dav/b", Reason.HOST_NOT_IN_SCOPE),
        ("dav/b", Reason.HOST_NOT_IN_SCOPE),
        ("/dav/b?x=/private", Reason.HOST_NOT_IN_SCOPE),
        ("/dav/b#/../private", Reason.HOST_NOT_IN_SCOPE),
        ("", Reason.HOST_NOT_IN_SCOPE),
        ("/dav" + "/a" * 1_100, Reason.HOST_NOT_IN_SCOPE),
    ],
)
def test_a_destination_outside_of_its_paths_is_out_of_scope(method, destination, told):
    assert reason("/dav/a", method=method, destination=destination, **OF_OFFICE) is told


def test_a_copy_without_a_destination_is_out_of_scope_and_a_put_ignores_one():
    assert reason("/dav/a", method="COPY", **OF_OFFICE) is Reason.HOST_NOT_IN_SCOPE
    assert reason("/dav/a", method="PUT", destination="/private", **OF_OFFICE) is Reason.APP_TOKEN_VALID


@pytest.mark.parametrize(("destination", "told"), [("/dav/b", True), ("/private/b", False)])
def test_a_destination_counts_where_the_proxy_does_not_show_the_method(destination, told):
    seen = frozenset({"uri", "for"})
    found = reason("/dav/a", destination=destination, visible=seen, **OF_OFFICE)

    assert (found is Reason.APP_TOKEN_VALID) is told


def test_each_of_several_destinations_counts():
    headers = (("destination", "/dav/b"), ("destination", "/private/b"))
    request = replace(a_request(uri="/dav/a", method="MOVE", visible=SEEN), headers=headers)

    assert path_readings_of(request) == ("/dav/a", "/dav/b", "/private/b")


def test_a_destination_does_not_replace_a_path_with_too_many_readings():
    request = a_request(uri="/a" * 2_000, method="MOVE", headers=(("destination", "/b"),), visible=SEEN)

    assert path_readings_of(request) is None


@pytest.mark.parametrize(
    ("destination", "told"), [("/drop/b", Reason.PATH_PUBLIC), ("/private/b", Reason.CREDENTIAL_INVALID)]
)
def test_a_public_path_does_not_open_a_destination_outside_of_it(destination, told):
    rules = [an_access_rule("public", "prefix /drop")]

    assert reason("/drop/a", token="x", method="MOVE", destination=destination, access_rules=rules, **OF_OFFICE) is told


def test_a_path_that_was_not_shown_is_in_no_scope():
    assert reason("/dav", visible=frozenset({"method", "for"}), **OF_OFFICE) is Reason.HOST_NOT_IN_SCOPE


def test_an_app_token_is_limited_by_the_scope_of_its_user():
    narrow = replace(APP_TOKENS[1], user_id=3, domains=frozenset({OFFICE, "shop.example"}), paths=())
    policy = {**OF_OFFICE, "app_tokens": [narrow]}

    assert reason(**policy) is Reason.APP_TOKEN_VALID
    assert reason(host="shop.example", **policy) is Reason.HOST_NOT_IN_SCOPE


@pytest.mark.parametrize(
    ("access", "token", "told"),
    [
        ("two_factor", ALICES_APP_TOKEN, Reason.APP_TOKEN_VALID),
        ("two_factor", BOBS_APP_TOKEN, Reason.SECOND_FACTOR_REQUIRED),
        ("phishing_resistant", ALICES_APP_TOKEN, Reason.PHISHING_RESISTANT_REQUIRED),
    ],
    ids=["its scope names the domain", "its scope is every domain", "phishing resistant"],
)
def test_an_app_token_for_the_domain_needs_no_second_factor(access, token, told):
    assert reason("/dav", token=token, domains={OFFICE: access}) is told


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"app_token_header": "x-emby-token"}, Reason.APP_TOKEN_VALID),
        ({"app_token_header": "x-emby-token", "domains": frozenset({OFFICE})}, Reason.APP_TOKEN_VALID),
        ({"app_token_header": "x-emby-token", "domains": frozenset({"shop.example"})}, Reason.CREDENTIAL_INVALID),
        ({"app_token_header": "x-emby-token", "expires_at": NOW}, Reason.CREDENTIAL_INVALID),
        ({"app_token_header": "x-api-key"}, Reason.CREDENTIAL_INVALID),
        ({}, Reason.CREDENTIAL_INVALID),
    ],
    ids=["named", "for the host", "for another host", "expired", "another header", "no header"],
)
def test_an_own_header_counts_where_an_access_rule_of_the_host_names_it(rule, told):
    rules = [an_access_rule("authenticated", **rule)]

    assert reason("/dav", kind=HEADER, header="x-emby-token", access_rules=rules, **OF_OFFICE) is told


@pytest.mark.parametrize(
    ("user_agent", "program"),
    [
        ("rclone/v1.66.0", "rclone"),
        ("Mozilla/5.0 (Linux) mirall/3.11.0 (Nextcloud, debian)", "mirall"),
        ("DAVx5/4.3.15-ose (2024/02/13; dav4jvm; okhttp/4.12.0) Android/14", "DAVx5"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox, Linux"),
        ("Mozilla/5.0", ""),
        ("", ""),
    ],
)
def test_a_program_is_named_by_its_user_agent(user_agent, program):
    assert program_of(user_agent) == program
    assert is_program(program) is bool(program)


@given(st.text(alphabet="aK/() \tMozilla;,1", max_size=80))
def test_the_name_of_a_program_names_itself(user_agent):
    assert is_program(program_of(user_agent)) is bool(program_of(user_agent))


def test_digests_of_the_cast_are_those_of_its_tokens():
    assert [token.digest for token in APP_TOKENS] == [digest_of(BOBS_APP_TOKEN), digest_of(ALICES_APP_TOKEN)]
