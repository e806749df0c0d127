"""Every scope of an API token against every operation of the API."""

import pytest

from tests.api.routes import LINKS, MANAGED, NO_PUT, PERMISSIONS, PUBLIC, ROUTES, TOTP, path_of
from tests.support.proxies import an_api_token, with_api_token

NO_PUT_OF = {(name, "PUT") for name in NO_PUT}
OF_USERS = (
    *("users", "licenses", "git-tokens", "app-tokens", "passkeys", "sessions", "remembered-devices"),
    *("totp-devices", "identity-providers"),
)
POLICY = tuple(name for name in MANAGED if name not in {*OF_USERS, "webhooks"})

SCOPES = {
    "policy:read": {
        *((f"{name}-{part}", "GET") for name in POLICY for part in ("list", "detail")),
        *((f"policy-revisions-{part}", "GET") for part in ("list", "detail")),
        *((f"policy-backtest-{part}", "GET") for part in ("list", "detail")),
        *((f"{name}-{part}", "GET") for name in ("policy-plan", "access-requests") for part in ("list", "detail")),
        *((name, "POST") for name in ("policy-explain", "waf-rules-test", "policy-backtest-list", "policy-plan-list")),
        *((name, "GET") for name in ("policy-who-can-enter", "app-profiles", "app-profile", "policy-shadow")),
        *(("policy-document", "GET"), ("policy-schema", "GET"), ("policy-document-compare", "POST")),
    },
    "policy:write": {
        *((f"{name}-list", "POST") for name in POLICY),
        *((f"{name}-detail", verb) for name in POLICY for verb in ("PUT", "DELETE") if (name, verb) not in NO_PUT_OF),
        *((f"policy-revisions-{verb}", "POST") for verb in ("restore", "confirm")),
        *((f"access-requests-{verb}", "POST") for verb in ("grant", "refuse")),
        *(("waf-rules-batch", "POST"), ("ip-black-list-unban", "POST"), ("policy-backtest-detail", "DELETE")),
        *((name, "POST") for name in ("app-profile-apply", "app-profile-remove", "policy-shadow-promote")),
        *(("policy-shadow", verb) for verb in ("PUT", "DELETE")),
        *(("policy-plan-detail", "DELETE"), ("policy-apply", "POST")),
    },
    "logs:read": {
        (name, "GET")
        for name in (
            *("access-logs", "access-log", "access-log-stats", "security-events", "security-event-stats"),
            *("dashboard-stats", "policy-blast-radius", "access-rules-suggestions", "authorized-domains-waf-report"),
        )
    },
    "users:read": {(f"{name}-{part}", "GET") for name in OF_USERS for part in ("list", "detail")},
    "users:write": {
        *((f"{name}-list", "POST") for name in ("users", "licenses", "git-tokens", "app-tokens", "identity-providers")),
        *((f"{name}-detail", "DELETE") for name in OF_USERS),
        *(
            (f"{name}-detail", "PUT")
            for name in ("users", "licenses", "passkeys", "totp-devices", "identity-providers")
        ),
        *((name, "POST") for name in (*TOTP, *LINKS, "totp-unlock")),
        *(("totp", "DELETE"), ("password", "PUT")),
    },
    "system:read": {
        *((f"{name}-{part}", "GET") for name in ("webhooks", "webhook-deliveries") for part in ("list", "detail")),
        *((name, "GET") for name in ("system-settings", "schema", "docs")),
    },
    "system:write": {
        *(("webhooks-list", "POST"), ("webhooks-detail", "PUT"), ("webhooks-detail", "DELETE")),
        *((name, "POST") for name in ("webhooks-rotate", "webhooks-test", "webhook-deliveries-resend")),
        *(("system-settings", "PUT"), ("system-reload", "POST"), ("system-doctor", "POST")),
    },
}
"""The operations that each scope of an API token permits."""
SESSION_ONLY = {
    *(("session", "GET"), ("logout", "POST"), ("passkey-begin", "POST"), ("passkey-finish", "POST")),
    *((f"{name}-list", verb) for name in ("api-tokens", "device-passes") for verb in ("GET", "POST")),
    *((f"{name}-detail", verb) for name in ("api-tokens", "device-passes") for verb in ("GET", "DELETE")),
}
"""Operations that no API token permits."""


def test_every_operation_has_exactly_one_scope_or_is_for_sessions():
    named = [*(route for routes in SCOPES.values() for route in routes), *SESSION_ONLY]

    assert sorted(named) == sorted(route for route, who in PERMISSIONS.items() if who != PUBLIC)


@pytest.mark.django_db
@pytest.mark.parametrize("scope", SCOPES)
def test_an_api_token_permits_what_its_scope_names_and_nothing_else(alice, bob, scope):
    token = with_api_token(an_api_token(alice, scope))
    answers = {
        route: token.send(route[1], path_of(route[0], bob.pk), b"") for route in ROUTES if PERMISSIONS[route] != PUBLIC
    }
    refused = {route: answer for route, answer in answers.items() if answer.status_code in {401, 403}}

    assert set(answers) - set(refused) == SCOPES[scope]
    for route, answer in refused.items():
        problem = answer.json()
        if route in SESSION_ONLY:
            assert (answer.status_code, problem["code"]) in {(401, "not-authenticated"), (403, "session-required")}
        else:
            (needed,) = [name for name, routes_ in SCOPES.items() if route in routes_]
            assert (answer.status_code, problem["code"]) == (403, "scope-missing"), route
            assert problem["detail"] == f"the API token does not have the scope {needed}"


@pytest.mark.django_db
def test_an_api_token_with_every_scope_changes_no_admin(alice):
    token, own = with_api_token(an_api_token(alice)), alice.pk
    changes = {
        (name, verb)
        for name, verb in SCOPES["users:write"]
        if name != "users-list" and not name.startswith(("licenses", "identity"))
    }
    tried = {
        (name, verb): token.send(verb, path_of(name, own).replace("users/999999", f"users/{own}"), b"{}")
        for name, verb in changes
    }

    assert {route: (answer.status_code, answer.json()["code"]) for route, answer in tried.items()} == dict.fromkeys(
        changes, (403, "session-required")
    )
