"""Permissions: every route of the URL conf, every method, every kind of caller.

A route that is missing in the table fails here.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import services
from accounts.models import Session
from accounts.sign_in import challenges
from tests.api.routes import ADMIN, PERMISSIONS, PUBLIC, ROUTES, SELF, SIGNED_IN, path_of
from tests.support.proxies import Api, a_license, a_token, enter_admin_site


def test_the_table_names_every_route_and_no_other():
    assert set(ROUTES) == set(PERMISSIONS)


def revoked(user):
    token = a_token(user)
    services.revoke_session(Session.objects.latest("issued_at").pk, at=timezone.now())
    return token


NOBODY = {
    "anonymous": lambda _: None,
    "license": lambda _: a_license(),
    "expired": lambda admin: a_token(admin, at=timezone.now() - timedelta(days=2)),
    "revoked": revoked,
    "challenged": lambda admin: challenges.begin(admin, "login", amr=["pwd"], at=timezone.now()).token,
    "garbage": lambda _: "no.good.token",
}


def status(client, route, user_id):
    name, verb = route
    body = b"{}" if verb in {"POST", "PUT"} else b""
    return client.send(verb, path_of(name, user_id), body).status_code


def routes(*who):
    chosen = [route for route in ROUTES if PERMISSIONS.get(route) in who]
    return pytest.mark.parametrize("route", chosen, ids=[f"{verb}-{name}" for name, verb in chosen])


@pytest.mark.django_db
@pytest.mark.parametrize("caller", NOBODY)
def test_unauthenticated_callers_must_sign_in(alice, caller):
    closed = [route for route in ROUTES if PERMISSIONS.get(route) in {ADMIN, SELF, SIGNED_IN}]
    nobody = Api(NOBODY[caller](alice))

    assert {route: status(nobody, route, alice.pk) for route in closed} == dict.fromkeys(closed, 401)


@pytest.mark.django_db
def test_a_user_may_not_do_what_admins_do(user, bob):
    closed = [route for route in ROUTES if PERMISSIONS.get(route) == ADMIN]

    assert {route: status(user, route, bob.pk) for route in closed} == dict.fromkeys(closed, 403)


@pytest.mark.django_db
def test_a_guard_session_of_an_admin_administrates_nothing(alice):
    closed, guard = (
        [route for route in ROUTES if PERMISSIONS.get(route) == ADMIN],
        Api(a_token(alice, audiences=["gate"])),
    )

    assert {route: status(guard, route, alice.pk) for route in closed} == dict.fromkeys(closed, 403)


@pytest.mark.django_db
@routes(ADMIN, SELF, SIGNED_IN)
def test_an_admin_may(admin, alice, route):
    assert status(admin, route, alice.pk) not in {401, 403, 405}


@pytest.mark.django_db
@routes(SELF)
@pytest.mark.parametrize("audience", ["gate", "api"])
def test_a_user_may_look_after_themselves(bob, route, audience):
    assert status(Api(a_token(bob, audiences=[audience])), route, bob.pk) not in {401, 403, 405}


@pytest.mark.django_db
@routes(SELF)
def test_a_user_may_not_look_after_another(user, alice, route):
    assert status(user, route, alice.pk) == 403


@pytest.mark.django_db
@routes(SELF)
def test_a_guard_session_of_an_admin_permits_only_their_own_account(alice, bob, route):
    assert status(Api(a_token(alice, audiences=["gate"])), route, bob.pk) == 403


@pytest.mark.django_db
@routes(SIGNED_IN)
def test_a_signed_in_user_may(bob, route):
    assert status(Api(a_token(bob, audiences=["gate"])), route, bob.pk) < 300


@pytest.mark.django_db
@routes(PUBLIC)
def test_public_routes_require_no_credential(anonymous, alice, route):
    name, verb = route

    response = anonymous.send(verb, path_of(name, alice.pk), b"{}" if verb == "POST" else b"")

    assert response.status_code in {200, 400} or response.json()["code"] in {
        "recovery-local-only",
        "passkeys-unavailable",
    }


@pytest.mark.django_db
def test_other_methods_do_not_bypass_permissions(user, anonymous, bob):
    for name in sorted({name for (name, _), who in PERMISSIONS.items() if who == ADMIN}):
        for verb in ("HEAD", "OPTIONS", "PATCH", "TRACE"):
            assert status(anonymous, (name, verb), 999_999) == 401, (name, verb)
            assert status(user, (name, verb), 999_999) in {403, 405}, (name, verb)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/auth/", "/nothing", "/users/", "//users", "/users/1/", "/.env", "/login/"])
def test_an_unknown_route_is_not_found(anonymous, path):
    assert anonymous.get(path).status_code == 404


@pytest.mark.django_db
def test_the_session_of_the_admin_site_opens_the_browsable_api(alice):
    from django.test import Client  # noqa: PLC0415

    client = Client()
    enter_admin_site(client, alice)

    assert client.get("/wall/users").status_code == 200


@pytest.mark.django_db
def test_the_admin_site_session_writes_only_with_its_csrf_token(alice):
    from django.test import Client  # noqa: PLC0415

    client = Client(enforce_csrf_checks=True)
    enter_admin_site(client, alice)

    response = client.post("/wall/ip-black-list", b'{"ip": "203.0.113.7"}', content_type="application/json")
    assert response.status_code == 403
