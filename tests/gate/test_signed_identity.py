"""The signed identity on both planes and in every dialect, verified with another library and the published keys."""

import json

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet

from accounts import services as accounts
from gatewall.policy import system_settings
from policies.groups import services as groups
from tests.support.cast import OFFICE
from tests.support.dialects import Question
from tests.support.proxies import a_token

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore:EdDSA is deprecated"),  # RFC 9864; the name that sites support
]
KEY_SET = Question("/wall/.well-known/jwks.json", ())
FORGED = ("X-Gatewall-Identity", "forged")


@pytest.fixture(params=["EdDSA", "ES256"])
def signed(request, wall):
    system_settings.change(actor="alice", signed_identity=request.param)


def claims_of(plane, question):
    answer = plane(question)
    assert answer.status == 200
    keys = KeySet.import_key_set(json.loads(plane(KEY_SET).body))
    return jwt.decode(answer.headers["x-gatewall-identity"], keys, algorithms=["EdDSA", "ES256"]).claims


def test_token_verifies_from_the_keys_of_the_plane(plane, visit, signed, bob):
    claims = claims_of(plane, visit(proto="https").plus(("Service-Authorization", a_token(bob)), FORGED))

    assert (claims["sub"], claims["preferred_username"], claims["groups"]) == (str(bob.pk), "Bob", [])
    assert claims["aud"] == f"https://{OFFICE}"
    assert claims["exp"] - claims["iat"] == 120


def test_a_new_group_is_in_the_next_token(plane, visit, signed, bob):
    question = visit().plus(("Service-Authorization", a_token(bob)))
    claims_of(plane, question)

    accounts.change_user(bob, actor="alice", groups=[groups.create_group(actor="alice", name="staff")])

    assert claims_of(plane, question)["groups"] == ["staff"]


def test_refused_visitors_get_no_signed_identity(both, visit, signed, bob):
    answer = both(visit().plus(FORGED))

    assert answer.status in {302, 401}
    assert "x-gatewall-identity" not in answer.headers


def test_no_token_without_the_setting(both, visit, bob):
    answer = both(visit().plus(("Service-Authorization", a_token(bob)), FORGED))

    assert (answer.status, "x-gatewall-identity" in answer.headers) == (200, False)


def test_both_planes_publish_the_same_keys(both):
    answer = both(KEY_SET)

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert {key["alg"] for key in json.loads(answer.body)["keys"]} == {"EdDSA", "ES256"}
    assert answer.request_id
    assert both(Question("/wall/.well-known/jwks.json", (), method="POST")).status == 405
