"""``/identity-providers``: write-only secrets, the group map, refused values, and permissions."""

import json

import pytest

from accounts.identity_providers import services
from accounts.models import IdentityProvider
from gatewall.models import PolicyRevision
from policies.groups.services import change_group, create_group, delete_group
from tests.api.resources import fields_refused
from tests.support.proxies import an_api_token, with_api_token

pytestmark = pytest.mark.django_db
BODY = {"slug": "corp", "name": "Corp", "issuer": "https://login.example/corp", "client_id": "gatewall"}
SECRET = "Zm9yLXRoZS1wcm92aWRlcg"


@pytest.fixture
def corp(admin):
    answer = admin.post("/identity-providers", {**BODY, "client_secret": SECRET})
    assert answer.status_code == 201, answer.json()
    return f"/identity-providers/{answer.json()['id']}"


def test_the_defaults_give_no_access(admin):
    shown = admin.post("/identity-providers", BODY).json()

    assert {name: value for name, value in shown.items() if name not in {"id", "created_at", "created_by"}} == {
        **BODY,
        "has_client_secret": False,
        "scopes": ["openid", "profile", "email"],
        "username_claim": "preferred_username",
        "groups_claim": "groups",
        "group_map": {},
        "group_map_gives_admin": False,
        "create_users": False,
        "link_verified_email": False,
        "allowed_email_domains": [],
        "trust_amr": False,
        "domains": [],
        "enabled": True,
        "allow_private": False,
    }


def test_the_client_secret_is_written_only(admin, corp):
    assert admin.get(corp).json()["has_client_secret"] is True
    for text in (
        admin.get(corp).text,
        admin.get("/identity-providers").text,
        str(IdentityProvider.objects.values().get()),
    ):
        assert SECRET not in text
    admin.put(corp, {"client_secret": "another-one"})
    revisions = json.dumps(list(PolicyRevision.objects.values_list("changes", flat=True)))
    assert '"client_secret": "changed"' in revisions
    assert SECRET not in revisions
    assert "another-one" not in revisions
    assert "another-one" not in admin.get("/security-events").text
    admin.put(corp, {"client_secret": ""})
    assert admin.get(corp).json()["has_client_secret"] is False


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("slug", "Corp"),
        ("slug", "-corp"),
        ("slug", "corp/x"),
        ("issuer", "http://login.example"),
        ("issuer", "http://127.0.0.1:8080"),
        ("issuer", "https://127.0.0.1"),
        ("issuer", "https://10.1.2.3"),
        ("issuer", "https://login.example/?a=b"),
        ("issuer", "https://login.example/#a"),
        ("issuer", "https://user:password@login.example/"),
        ("issuer", "ftp://login.example"),
        ("issuer", "login.example"),
        ("issuer", "https://login.example/ "[:-1] + "\u00e9"),
        ("scopes", ["profile"]),
        ("scopes", ["openid", "two words"]),
        ("scopes", ["openid"] * 21),
        ("username_claim", "two words"),
        ("groups_claim", 'a"b'),
        ("group_map", {"staff": ["nobody-knows"]}),
        ("group_map", {"staff": "staff"}),
        ("group_map", {"": []}),
        ("group_map", {"x" * 256: []}),
        ("group_map", {str(number): [] for number in range(201)}),
        ("group_map", ["staff"]),
        ("allowed_email_domains", ["*.corp.example"]),
        ("allowed_email_domains", ["not a domain"]),
        ("domains", ["unknown.example"]),
    ],
)
def test_an_invalid_field_is_refused_by_name(admin, field, value):
    refused = fields_refused(admin.post("/identity-providers", {**BODY, field: value}))

    assert {name.partition(".")[0] for name in refused} == {field}


@pytest.mark.parametrize("issuer", ["http://127.0.0.1:8080", "http://localhost:8080/realms/x", "https://10.1.2.3"])
def test_a_private_issuer_needs_allow_private(admin, issuer):
    assert admin.post("/identity-providers", {**BODY, "issuer": issuer, "allow_private": True}).status_code == 201
    answer = admin.post(
        "/identity-providers", {**BODY, "slug": "b", "issuer": "http://10.1.2.3", "allow_private": True}
    )
    assert fields_refused(answer) == {"issuer"}  # plain HTTP is permitted on this machine only


def test_a_group_map_that_gives_admin_rights_needs_a_second_field(admin, corp):
    answer = admin.put(corp, {"group_map": {"boss": ["admins"]}})
    assert answer.status_code == 400
    assert [(error["field"], error["code"]) for error in answer.json()["errors"]] == [("group_map", "gives-admin")]

    assert admin.put(corp, {"group_map": {"boss": ["admins"]}, "group_map_gives_admin": True}).status_code == 200
    assert fields_refused(admin.put(corp, {"group_map_gives_admin": False})) == {"group_map"}
    assert admin.put(corp, {"group_map": {}, "group_map_gives_admin": False}).status_code == 200


def test_the_group_map_follows_a_group_that_is_renamed_or_deleted(admin, corp):
    staff = create_group(actor="alice", name="staff")
    admin.put(corp, {"group_map": {"employees": ["staff"]}})
    change_group(staff, actor="alice", name="people")
    assert admin.get(corp).json()["group_map"] == {"employees": ["people"]}
    delete_group(staff, actor="alice")

    assert admin.get(corp).json()["group_map"] == {"employees": []}


def test_slugs_are_unique(admin, corp):
    assert admin.post("/identity-providers", BODY).json()["code"] == "duplicate"


def test_there_are_at_most_twenty(admin, monkeypatch, corp):
    monkeypatch.setattr(services, "MAX_PROVIDERS", 1)

    assert admin.post("/identity-providers", {**BODY, "slug": "b"}).json()["code"] == "too-many-identity-providers"


def test_no_api_token_sets_up_a_provider_that_makes_administrators(admin, alice, corp):
    token = with_api_token(an_api_token(alice, "users:read", "users:write"))
    body = {**BODY, "slug": "b", "group_map": {"x": ["admins"]}, "group_map_gives_admin": True}
    assert token.post("/identity-providers", body).json()["code"] == "session-required"
    assert token.put(corp, {"name": "Renamed"}).status_code == 200
    admin.put(corp, {"group_map_gives_admin": True})

    assert token.put(corp, {"name": "Again"}).json()["code"] == "session-required"


def test_writing_asks_for_a_fresh_sign_in(clock, admin, corp):
    clock.shift(660)

    for answer in (admin.post("/identity-providers", {**BODY, "slug": "b"}), admin.put(corp, {"name": "x"})):
        assert answer.json()["code"] == "reauthentication-required"
