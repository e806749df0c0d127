"""The signed identity arrives at the site through each proxy, and one forged by the visitor does not."""

import json
from urllib.request import urlopen

import pytest
from joserfc import jwt
from joserfc.errors import ExpiredTokenError, InvalidClaimError
from joserfc.jwk import KeySet

from gatewall.engine.identity_headers import KNOWN_HEADERS
from tests.support.processes import api, request, send, token_of, wait_until

HEADER = "X-Gatewall-Identity"
ALIASES = KNOWN_HEADERS
"""The header names that a domain may choose; each sample copies them from the gate's answer."""


@pytest.fixture(scope="module")
def signed(wall):
    """Make the gate sign identities for the tests of this module."""
    control = wall.behind.control
    token = token_of(control)
    send(control, token, "PUT", "/system/settings", {"signed_identity": "ES256"})
    yield
    send(control, token, "PUT", "/system/settings", {"signed_identity": "off"})


@pytest.fixture(scope="module")
def named(wall):
    """Return the host of a domain that chooses the names of its identity headers."""
    names = ["X-Webauth-User", "X-Remote-Groups"]
    return api(wall.behind.control, "/authorized-domains", name="named.example", identity_headers=names)["name"]


def test_site_verifies_the_identity_from_the_keys_at_the_public_address(front, signed, cookie):
    def arrived():
        assert request(front.port, "/", {"Cookie": cookie, HEADER: "forged"}).status == 200
        return front.site.last.get_all(HEADER)

    wait_until(arrived, what="the signed identity")
    (token,) = arrived()

    with urlopen(f"http://127.0.0.1:{front.port}/wall/.well-known/jwks.json") as answer:
        keys = KeySet.import_key_set(json.load(answer))
    claims = jwt.decode(token, keys, algorithms=["ES256"]).claims
    site = f"http://127.0.0.1:{front.port}"
    assert (claims["preferred_username"], claims["aud"]) == ("admin", site)
    jwt.JWTClaimsRegistry(now=claims["iat"], aud={"value": site}).validate(claims)
    with pytest.raises(ExpiredTokenError):
        jwt.JWTClaimsRegistry(now=claims["iat"] + 121, aud={"value": site}).validate(claims)
    with pytest.raises(InvalidClaimError):
        jwt.JWTClaimsRegistry(now=claims["iat"], aud={"value": "http://other.example"}).validate(claims)


def test_identity_of_a_stranger_does_not_arrive(front, signed):
    answer = request(front.port, "/", {"Host": "public.example", HEADER: "forged"})

    assert answer.status == 200
    assert front.site.last.get_all(HEADER) in (None, [""])


@pytest.mark.parametrize("sent", [{}, {"Connection": ", ".join([HEADER, *ALIASES])}], ids=["plain", "hop-by-hop"])
def test_identity_of_any_name_arrives_from_the_gate_alone(stub, sent):
    said = dict.fromkeys((HEADER, *ALIASES), "the-gate")
    stub.gate.headers = {**stub.gate.headers, **said}

    status = request(stub.port, "/", {**sent, **dict.fromkeys(said, "forged")}).status

    if status != 400:  # Envoy refuses requests that name forwarding headers in Connection
        assert {name: stub.site.last.get_all(name) for name in said} == {name: ["the-gate"] for name in said}


def test_site_gets_the_identity_under_the_names_of_its_domain(front, named, cookie):
    sent = {"Host": named, "Cookie": cookie, **dict.fromkeys(KNOWN_HEADERS, "forged")}
    wait_until(lambda: request(front.port, "/", sent).status == 200, what="the domain")

    told = {name: value for name in KNOWN_HEADERS if (value := front.site.last[name])}

    assert told == {"X-Webauth-User": "admin", "X-Remote-Groups": "admins"}
