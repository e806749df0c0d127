"""Auditors read everything but secrets, and write nothing but their own account."""

import pytest

from accounts import services
from accounts.sign_in import login
from tests.api.routes import PERMISSIONS, PUBLIC, ROUTES, SELF, SIGNED_IN, path_of
from tests.api.test_scopes import SCOPES, SESSION_ONLY
from tests.api.test_who_may import routes, status
from tests.support.proxies import PASSWORD, Api, a_token, a_user, code_of
from webhooks import services as webhooks

pytestmark = pytest.mark.django_db
READABLE = {
    *(route for scope, named in SCOPES.items() if scope.endswith(":read") for route in named),
    *((name, verb) for name, verb in SESSION_ONLY if verb == "GET"),
}
URL = "https://hooks.example/secret-path"


@pytest.fixture
def auditor(db):
    """Return a user who may audit."""
    return a_user("eve", is_auditor=True)


def test_an_auditor_may_read_every_route_and_write_none(auditor, bob):
    client = Api(a_token(auditor))
    asked = [route for route in ROUTES if PERMISSIONS[route] not in {PUBLIC, SIGNED_IN}]
    answers = {route: status(client, route, bob.pk) for route in asked}

    assert {route for route, answer in answers.items() if answer not in {401, 403}} == READABLE - {("session", "GET")}
    assert set(answers.values()) <= {200, 201, 400, 403, 404}


@routes(SELF, SIGNED_IN)
def test_an_auditor_manages_their_own_account(auditor, route):
    assert status(Api(a_token(auditor)), route, auditor.pk) not in {401, 403, 405}


def test_an_auditor_cannot_change_their_own_rights(auditor):
    client = Api(a_token(auditor))

    assert client.put(f"/users/{auditor.pk}", {"is_admin": True}).status_code == 403
    assert client.post("/api-tokens", {"name": "ci", "scopes": ["policy:read"]}).status_code == 403


def test_a_guard_session_of_an_auditor_reads_nothing(auditor, bob):
    guard = Api(a_token(auditor, audiences=["gate"]))
    asked = [route for route in READABLE if PERMISSIONS[route] != SIGNED_IN]

    assert {route: status(guard, route, bob.pk) for route in asked} == dict.fromkeys(asked, 403)


def test_a_former_auditor_may_read_nothing(auditor):
    token = a_token(auditor)
    services.change_user(auditor, actor="alice", is_auditor=False)

    auditor.refresh_from_db()

    assert Api(token).get("/users").status_code == 401
    assert Api(a_token(auditor)).get("/users").status_code == 403


def test_a_disabled_auditor_reads_nothing(auditor):
    token = a_token(auditor)
    services.change_user(auditor, actor="alice", is_active=False)

    assert Api(token).get("/users").status_code == 401


def test_an_auditor_signs_in_where_admins_do(auditor, bob):
    body = {"username": "eve", "password": PASSWORD}

    assert Api().post("/admin-login", body).status_code == 200
    assert code_of(Api().post("/admin-login", body | {"username": "Bob"})) == (403, login.AdminRequired.code)


def test_making_a_user_an_auditor_is_recorded_in_a_revision(admin, bob):
    answer = admin.put(f"/users/{bob.pk}", {"is_auditor": True})

    assert answer.json()["is_auditor"] is True
    assert admin.get("/users", {"is_auditor": "true"}).json()["count"] == 1
    newest = admin.get("/policy/revisions").json()["results"][0]["number"]
    assert admin.get(f"/policy/revisions/{newest}").json()["changes"][0]["after"] == {"is_auditor": True}


def test_the_path_of_a_webhook_is_hidden_from_auditors(admin, auditor):
    row, _secret = webhooks.create_webhook(actor="alice", name="pager", url=URL, kinds=[])
    client = Api(a_token(auditor))
    newest = client.get("/policy/revisions").json()["results"][0]["number"]

    for path in ("/webhooks", f"/webhooks/{row.pk}", f"/policy/revisions/{newest}"):
        assert "secret-path" not in client.get(path).text, path
        assert "https://hooks.example/..." in client.get(path).text, path
        assert path == "/webhooks" or "secret-path" in admin.get(path).text, path
    assert client.get("/webhooks", {"search": "secret"}).json()["count"] == 0
    assert admin.get("/webhooks", {"search": "secret"}).json()["count"] == 1


def test_routes_readable_by_auditors_exist(auditor):
    client = Api(a_token(auditor))
    for name in sorted({name for name, verb in READABLE if verb == "GET"} - {"session"}):
        assert status(client, (name, "GET"), auditor.pk) in {200, 400, 404}, path_of(name, auditor.pk)
