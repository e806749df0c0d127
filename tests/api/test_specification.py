"""The endpoint tables of the specification, row by row: methods, and required authentication."""

import pytest
from django.urls import resolve

from tests.api.routes import verbs
from tests.support.proxies import PASSWORD, ROOT

PUBLIC = """
POST /login
POST /login/2fa
POST /admin-login
POST /admin-login/2fa
GET /auth
POST /admin-recover-2fa
GET /health
"""
PROTECTED = """
GET /dashboard/stats
GET /users
POST /users
PUT /users/:id
DELETE /users/:id
POST /users/:id/totp/setup
POST /users/:id/totp/confirm
DELETE /users/:id/totp
GET /ip-black-list
POST /ip-black-list
DELETE /ip-black-list/:id
GET /ip-white-list
POST /ip-white-list
PUT /ip-white-list/:id
DELETE /ip-white-list/:id
GET /waf-rules
POST /waf-rules
PUT /waf-rules/:id
DELETE /waf-rules/:id
GET /access-logs
GET /access-logs/stats
GET /authorized-domains
POST /authorized-domains
DELETE /authorized-domains/:id
GET /geo-block-rules
POST /geo-block-rules
DELETE /geo-block-rules/:id
GET /licenses
POST /licenses
DELETE /licenses/:id
GET /security-events
GET /security-events/stats
GET /system/settings
PUT /system/settings
POST /system/reload
"""
BEFORE_DJANGO = {"GET /auth"}
"""Routes that gatewall/wsgi.py answers."""


def rows(table):
    return [tuple(line.split()) for line in table.splitlines() if line]


def there_already(table):
    return [row for row in rows(table) if " ".join(row) not in BEFORE_DJANGO]


def concrete(path, pk=1):
    return path.replace(":id", str(pk))


def test_each_row_of_the_specification_stands_here_once():
    everything = rows(PUBLIC) + rows(PROTECTED)

    assert len(everything) == len(set(everything)) == 42


@pytest.mark.parametrize(("verb", "path"), there_already(PUBLIC + PROTECTED))
def test_every_specified_route_and_method_exists(verb, path):
    match = resolve(ROOT + concrete(path))

    assert verb in verbs(_Pattern(match.func))


class _Pattern:
    def __init__(self, callback):
        self.callback = callback


@pytest.mark.django_db
@pytest.mark.parametrize(("verb", "path"), there_already(PROTECTED))
def test_a_protected_row_needs_a_token(anonymous, admin, alice, verb, path):
    body = b"{}" if verb in {"POST", "PUT"} else b""
    path = concrete(path, alice.pk)

    assert anonymous.send(verb, path, body).status_code == 401
    assert admin.send(verb, path, body).status_code not in {401, 403, 405}


@pytest.mark.django_db
@pytest.mark.parametrize(("verb", "path"), there_already(PUBLIC))
def test_a_public_row_needs_none(anonymous, verb, path):
    response = anonymous.send(verb, path, b"{}" if verb == "POST" else b"", headers={"Host": "localhost"})

    assert response.status_code == (200 if verb == "GET" else 400)


@pytest.mark.django_db
def test_auth_is_public_too_and_answers_by_the_credential(auth, wall, bob):
    assert auth().status == 401
    assert auth(service_authorization=wall.a_token(bob)).status == 200


@pytest.mark.django_db
def test_all_domains_are_listed_with_one_parameter(admin):
    for number in range(3):
        admin.post("/authorized-domains", {"name": f"site{number}.example"})

    page = admin.get("/authorized-domains", {"page_size": 2}).json()
    everything = admin.get("/authorized-domains", {"all": "true", "page_size": 2}).json()

    assert (len(page["results"]), page["count"], page["next"] is None) == (2, 3, False)
    assert (len(everything["results"]), everything["count"], everything["next"]) == (3, 3, None)


@pytest.mark.django_db
def test_an_admin_login_of_a_non_admin_is_403(anonymous, bob):
    refused = anonymous.post("/admin-login", {"username": "Bob", "password": PASSWORD})

    assert (refused.status_code, refused.json()["code"]) == (403, "admin-required")
