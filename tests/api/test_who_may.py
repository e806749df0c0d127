"""Who may call what: every route of the URL conf, every method, every kind of caller.

A route that is not in the table fails here, so nobody can add one and forget who may call it.
"""

from datetime import timedelta

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from accounts import services
from accounts.models import Session
from accounts.sign_in import challenges
from tests.support.proxies import Api, a_license, a_token, enter_admin_site

PUBLIC, SIGNED_IN, SELF, ADMIN = "public", "signed in", "self", "admin"
HEALTH = {("health", "GET"), ("health-live", "GET"), ("health-ready", "GET")}
MANAGED = (
    "ip-black-list",
    "ip-white-list",
    "waf-rules",
    "access-rules",
    "authorized-domains",
    "geo-block-rules",
    "groups",
    "licenses",
    "users",
    "list-subscriptions",
    "webhooks",
    "identity-providers",
)
NO_PUT = {"geo-block-rules"}
DOORS = (
    *("login", "login-2fa", "login-passkey-begin", "login-passkey-finish", "admin-login", "admin-login-2fa"),
    *("admin-login-passkey-begin", "admin-login-passkey-finish", "admin-recover-2fa"),
)
PASSKEY, LINKS = ("passkey-begin", "passkey-finish"), ("invitation", "user-password-reset")
OWN = ("git-tokens", "app-tokens", "passkeys", "remembered-devices")
TOTP = ("totp-setup", "totp-confirm", "totp-disable")

WHO = {
    **dict.fromkeys(HEALTH, PUBLIC),
    **{(name, "POST"): PUBLIC for name in DOORS},
    ("password-reset", "POST"): PUBLIC,
    ("metrics", "GET"): PUBLIC,  # on this machine, which is trusted: tests/api/test_metrics.py
    ("session", "GET"): SIGNED_IN,
    ("logout", "POST"): SIGNED_IN,
    ("access-logs", "GET"): ADMIN,
    ("access-log", "GET"): ADMIN,
    ("policy-explain", "POST"): ADMIN,
    ("policy-who-can-enter", "GET"): ADMIN,
    ("authorized-domains-waf-report", "GET"): ADMIN,
    ("access-rules-suggestions", "GET"): ADMIN,
    ("waf-rules-batch", "POST"): ADMIN,
    ("waf-rules-test", "POST"): ADMIN,
    ("dashboard-stats", "GET"): ADMIN,
    ("access-log-stats", "GET"): ADMIN,
    ("security-events", "GET"): ADMIN,
    ("security-event-stats", "GET"): ADMIN,
    ("ip-black-list-unban", "POST"): ADMIN,
    ("app-profiles", "GET"): ADMIN,
    ("app-profile", "GET"): ADMIN,
    ("app-profile-apply", "POST"): ADMIN,
    ("app-profile-remove", "POST"): ADMIN,
    ("system-settings", "GET"): ADMIN,
    ("system-settings", "PUT"): ADMIN,
    ("system-reload", "POST"): ADMIN,
    ("system-doctor", "POST"): ADMIN,
    ("policy-revisions-list", "GET"): ADMIN,
    ("policy-revisions-detail", "GET"): ADMIN,
    ("policy-revisions-restore", "POST"): ADMIN,
    ("policy-revisions-confirm", "POST"): ADMIN,
    **{("policy-backtest-list", verb): ADMIN for verb in ("GET", "POST")},
    **{("policy-backtest-detail", verb): ADMIN for verb in ("GET", "DELETE")},
    **{("policy-plan-list", verb): ADMIN for verb in ("GET", "POST")},
    **{("policy-plan-detail", verb): ADMIN for verb in ("GET", "DELETE")},
    ("policy-apply", "POST"): ADMIN,
    ("policy-blast-radius", "GET"): ADMIN,
    **{("policy-shadow", verb): ADMIN for verb in ("GET", "PUT", "DELETE")},
    ("policy-shadow-promote", "POST"): ADMIN,
    ("policy-document", "GET"): ADMIN,
    ("policy-schema", "GET"): ADMIN,
    ("policy-document-compare", "POST"): ADMIN,
    ("schema", "GET"): ADMIN,
    ("docs", "GET"): ADMIN,
    **{(f"{name}-list", verb): ADMIN for name in MANAGED for verb in ("GET", "POST")},
    **{(f"{name}-detail", verb): ADMIN for name in MANAGED for verb in ("GET", "DELETE")},
    **{(f"{name}-detail", "PUT"): ADMIN for name in MANAGED if name not in NO_PUT},
    **{("api-tokens-list", verb): ADMIN for verb in ("GET", "POST")},
    **{("api-tokens-detail", verb): ADMIN for verb in ("GET", "DELETE")},
    ("webhooks-rotate", "POST"): ADMIN,
    ("webhooks-test", "POST"): ADMIN,
    ("webhook-deliveries-list", "GET"): ADMIN,
    ("webhook-deliveries-detail", "GET"): ADMIN,
    ("webhook-deliveries-resend", "POST"): ADMIN,
    ("users-detail", "GET"): SELF,
    **{(f"{name}-list", "GET"): SELF for name in (*OWN, "sessions")},
    **{(f"{name}-detail", verb): SELF for name in (*OWN, "sessions") for verb in ("GET", "DELETE")},
    **{(f"{kind}-tokens-list", "POST"): SELF for kind in ("git", "app")},
    ("passkeys-detail", "PUT"): SELF,
    **{(name, "POST"): SELF for name in PASSKEY},
    **{(name, "POST"): SELF for name in TOTP},
    ("totp", "DELETE"): SELF,
    ("totp-unlock", "POST"): ADMIN,
    **{(name, "POST"): ADMIN for name in LINKS},
    ("password", "PUT"): SELF,
}
PAGES = {
    *("guard", "guard-without-slash", "second-factor", "sign-out", "step-up", "enrol", "enrol-confirm"),
    *("passkey", "passkey-sign-in-begin", "step-up-passkey", "step-up-passkey-begin", "account-passkey"),
    *("account-passkey-begin", "account-passkey-rename", "account-passkey-remove"),
    *("hand-off-grant", "hand-off-enter"),
    *("account", "account-password", "account-second-factor-off", "account-session-end", "account-session-end-all"),
    *("account-app-token", "account-app-token-delete", "account-git-token", "account-git-token-delete"),
    *("administration", "first-admin", "denied", "origin", "account-remembered-forget"),
    *("account-identity-link", "account-identity-unlink", "provider-start", "provider-callback"),
    *("provider-sign-out", "provider-logout"),
    *("password-forgot", "password-new", "accept-invitation"),
}
"""Pages for visitors: tests/integration/test_account_page.py, test_step_up.py, test_administration_page.py and the
tests of providers there say who may use them."""


def patterns(resolver=None):
    for part in (resolver or get_resolver()).url_patterns:
        if isinstance(part, URLResolver):
            if part.app_name not in {"admin", "console"}:  # tests/admin, tests/console
                yield from patterns(part)
        elif isinstance(part, URLPattern):
            yield part


def verbs(pattern):
    actions = getattr(pattern.callback, "actions", None)
    view = getattr(pattern.callback, "cls", None) or pattern.callback.view_class
    names = [name for name in view.http_method_names if (name in actions if actions else hasattr(view, name))]
    return {name.upper() for name in names} - {"HEAD", "OPTIONS"}


ROUTES = sorted(
    {(pattern.name, verb) for pattern in patterns() if pattern.name not in PAGES for verb in verbs(pattern)}
)


def test_the_table_names_every_route_and_no_other():
    assert set(ROUTES) == set(WHO)


def path_of(name, user_id):
    from django.urls import reverse  # noqa: PLC0415

    of_a_user = {"user_id": user_id}
    arguments = {
        "users-detail": {"pk": user_id},
        **{f"{name}-detail": {**of_a_user, "pk": 999_999} for name in OWN},
        "sessions-detail": {**of_a_user, "jti": "00000000-0000-4000-8000-000000000000"},
        "app-profile": {"name": "jellyfin"},
        "app-profile-apply": {"name": "jellyfin"},
        "app-profile-remove": {"name": "jellyfin"},
        "access-log": {"decision_id": "019cebab-8748-7000-8000-000000000000"},
        **dict.fromkeys((f"{name}-list" for name in (*OWN, "sessions")), of_a_user),
        **dict.fromkeys(("password", "totp"), of_a_user),
        **dict.fromkeys(("totp-unlock", *TOTP, *LINKS, *PASSKEY), of_a_user),
    }
    if name.startswith("webhook-deliveries"):
        arguments[name] = {"webhook_id": 999_999} if name.endswith("-list") else {"webhook_id": 999_999, "pk": 999_999}
    by_id = ("-detail", "-waf-report", "-restore", "-confirm", "-rotate", "webhooks-test")
    usual = {"pk": 999_999} if name.endswith(by_id) else {}
    return reverse(name, kwargs=arguments.get(name, usual)).removeprefix("/wall")


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
    chosen = [route for route in ROUTES if WHO.get(route) in who]
    return pytest.mark.parametrize("route", chosen, ids=[f"{verb}-{name}" for name, verb in chosen])


@pytest.mark.django_db
@pytest.mark.parametrize("caller", NOBODY)
def test_who_is_nobody_must_sign_in(alice, caller):
    closed = [route for route in ROUTES if WHO.get(route) in {ADMIN, SELF, SIGNED_IN}]
    nobody = Api(NOBODY[caller](alice))

    assert {route: status(nobody, route, alice.pk) for route in closed} == dict.fromkeys(closed, 401)


@pytest.mark.django_db
def test_a_user_may_not_do_what_admins_do(user, bob):
    closed = [route for route in ROUTES if WHO.get(route) == ADMIN]

    assert {route: status(user, route, bob.pk) for route in closed} == dict.fromkeys(closed, 403)


@pytest.mark.django_db
def test_a_guard_session_of_an_admin_administrates_nothing(alice):
    closed, guard = [route for route in ROUTES if WHO.get(route) == ADMIN], Api(a_token(alice, audiences=["gate"]))

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
def test_a_guard_session_of_an_admin_looks_after_themselves_alone(alice, bob, route):
    assert status(Api(a_token(alice, audiences=["gate"])), route, bob.pk) == 403


@pytest.mark.django_db
@routes(SIGNED_IN)
def test_a_signed_in_user_may(bob, route):
    assert status(Api(a_token(bob, audiences=["gate"])), route, bob.pk) < 300


@pytest.mark.django_db
@routes(PUBLIC)
def test_what_is_public_asks_for_nothing(anonymous, alice, route):
    name, verb = route

    response = anonymous.send(verb, path_of(name, alice.pk), b"{}" if verb == "POST" else b"")

    assert response.status_code in {200, 400} or response.json()["code"] in {
        "recovery-local-only",
        "passkeys-unavailable",
    }


@pytest.mark.django_db
def test_methods_beside_those_of_the_table_are_not_a_way_around(user, anonymous, bob):
    for name in sorted({name for (name, _), who in WHO.items() if who == ADMIN}):
        for verb in ("HEAD", "OPTIONS", "PATCH", "TRACE"):
            assert status(anonymous, (name, verb), 999_999) == 401, (name, verb)
            assert status(user, (name, verb), 999_999) in {403, 405}, (name, verb)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/auth/", "/nothing", "/users/", "//users", "/users/1/", "/.env", "/login/"])
def test_what_is_no_route_is_not_found(anonymous, path):
    assert anonymous.get(path).status_code == 404


@pytest.mark.django_db
def test_the_session_of_the_admin_site_opens_the_browsable_api(alice):
    from django.test import Client  # noqa: PLC0415

    client = Client()
    enter_admin_site(client, alice)

    assert client.get("/wall/users").status_code == 200


@pytest.mark.django_db
def test_the_session_of_the_admin_site_writes_with_its_csrf_token_alone(alice):
    from django.test import Client  # noqa: PLC0415

    client = Client(enforce_csrf_checks=True)
    enter_admin_site(client, alice)

    response = client.post("/wall/ip-black-list", b'{"ip": "203.0.113.7"}', content_type="application/json")
    assert response.status_code == 403
