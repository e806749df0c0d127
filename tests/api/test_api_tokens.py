"""API tokens: create, list and delete."""

import hashlib
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import ApiToken
from audit.models import SecurityEvent
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from tests.api.own import OLD
from tests.api.resources import fields_refused
from tests.api.tokens import BODY, works
from tests.support.proxies import (
    PASSWORD,
    Api,
    a_token,
    an_api_token,
    code_of,
    enter_admin_site,
)
from tests.support.second_factor import an_app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def test_a_token_is_shown_only_at_its_creation(admin):
    made = admin.post("/api-tokens", BODY)
    body = made.json()
    token = body.pop("token")

    assert made.status_code == 201
    assert token.startswith("gwa_")
    assert token.startswith(body["prefix"])
    assert (body["scopes"], body["networks"], body["created_by"], body["last_used_at"]) == (
        *(["policy:read"], []),
        *("alice", None),
    )
    assert admin.get(made.headers["Location"].removeprefix("/wall")).json() == body
    assert token not in admin.get("/api-tokens").text
    assert ApiToken.objects.get().digest == hashlib.sha256(token.encode()).hexdigest()
    assert works(token)


@pytest.mark.parametrize(
    ("sent", "fields"),
    [
        ({"name": ""}, {"name"}),
        ({"scopes": []}, {"scopes"}),
        ({"scopes": ["policy:read", "root"]}, {"scopes.1"}),
        ({"scopes": "policy:read"}, {"scopes"}),
        ({"networks": ["10.0.0.1/8"]}, {"networks.0"}),
        ({"networks": ["office"]}, {"networks.0"}),
        ({"networks": ["10.0.0.1"] * 51}, {"networks"}),
        ({"expires_at": None}, {"expires_at"}),
        ({"token": "gwa_1"}, {"token"}),
        ({"user": 1}, {"user"}),
    ],
    ids=str,
)
def test_invalid_input_is_refused(admin, sent, fields):
    assert fields_refused(admin.post("/api-tokens", BODY | sent)) == fields


def test_a_token_lives_for_90_days_and_at_most_400(admin):
    at = timezone.now()

    def ending(name, **ahead):
        return admin.post("/api-tokens", {**BODY, "name": name, "expires_at": (at + timedelta(**ahead)).isoformat()})

    usual = admin.post("/api-tokens", BODY).json()["expires_at"]
    assert usual == (at + timedelta(days=90)).isoformat().replace("+00:00", "Z")
    assert ending("longest", days=400).status_code == 201
    assert fields_refused(ending("longer", days=400, seconds=1)) == {"expires_at"}
    assert fields_refused(ending("over", seconds=0)) == {"expires_at"}


def test_scopes_and_networks_are_stored_in_canonical_form(admin):
    sent = {"scopes": ["users:read", "logs:read", "users:read"], "networks": ["2001:DB8::/32", "198.51.100.9/32"]}

    made = admin.post("/api-tokens", BODY | sent).json()

    assert made["scopes"] == ["logs:read", "users:read"]
    assert made["networks"] == ["2001:db8::/32", "198.51.100.9"]


def test_names_are_unique_per_maker_and_their_number_is_limited(admin, alice, other):
    assert admin.post("/api-tokens", BODY).status_code == 201
    assert code_of(admin.post("/api-tokens", BODY)) == (409, "duplicate")
    assert Api(a_token(other)).post("/api-tokens", BODY).status_code == 201
    made = ApiToken.objects.get(user=alice)
    rows = [{"pk": None, "name": f"n{n}", "digest": f"{n}"} for n in range(49)]
    ApiToken.objects.bulk_create(
        ApiToken(user=alice, scopes=[], expires_at=made.expires_at, name=row["name"], digest=row["digest"])
        for row in rows
    )

    assert code_of(admin.post("/api-tokens", {**BODY, "name": "more"})) == (409, "too-many-api-tokens")


def test_only_a_fresh_sign_in_makes_a_token(alice):
    stale = Api(a_token(alice, at=timezone.now() - OLD))

    assert code_of(stale.post("/api-tokens", BODY)) == (403, "reauthentication-required")
    assert code_of(stale.post("/api-tokens", {**BODY, "password": "wrong"})) == (403, "reauthentication-failed")
    assert ApiToken.objects.count() == 0
    assert stale.post("/api-tokens", {**BODY, "password": PASSWORD}).status_code == 201
    app = an_app(alice)
    assert stale.post("/api-tokens", {**BODY, "name": "other", "code": app.code()}).status_code == 201


def test_the_session_of_the_admin_site_makes_a_token_while_it_is_fresh(alice):
    for age, status in ((OLD, 403), (timedelta(), 201)):
        client = Client()
        enter_admin_site(client, alice, at=timezone.now() - age)
        assert client.post("/wall/api-tokens", BODY, content_type="application/json").status_code == status


def test_a_guard_session_and_a_user_make_none(alice, bob):
    for token in (a_token(alice, audiences=["gate"]), a_token(bob)):
        assert Api(token).post("/api-tokens", BODY).status_code == 403


def test_issue_and_revocation_are_revisions_and_events(admin):
    made = admin.post("/api-tokens", BODY).json()
    before = revisions.head().revision

    assert admin.delete(f"/api-tokens/{made['id']}").status_code == 204

    assert revisions.head().revision == before + 1
    kinds = list(SecurityEvent.objects.order_by("pk").values_list("kind", flat=True))
    assert kinds[-2:] == ["token.issued", "token.revoked"]
    assert PolicyRevision.objects.get(pk=before).changes[0]["after"]["scopes"] == ["policy:read"]
    assert not works(made["token"])


def test_any_admin_sees_and_revokes_every_token(alice, other):
    token = an_api_token(alice)
    caller = Api(a_token(other))
    (row,) = caller.get("/api-tokens", {"search": "alice"}).json()["results"]

    assert caller.delete(f"/api-tokens/{row['id']}").status_code == 204
    assert not works(token)
