"""API tokens and stale sessions cannot take over the account of an admin or auditor."""

import json

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AccountLink, IdentityProvider, Passkey, RecoveryCode, TotpDevice
from licensing.models import AppToken, GitToken
from tests.api.own import OLD
from tests.api.routes import path_of
from tests.api.test_scopes import SCOPES
from tests.support.proxies import (
    PASSWORD,
    Api,
    a_token,
    a_user,
    an_api_token,
    code_of,
    enter_admin_site,
    with_api_token,
)
from tests.support.second_factor import an_app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

NEW = "another battery staple"
ON_A_USER = sorted(route for route in SCOPES["users:write"] if "/users/7" in path_of(route[0], 7))
BODIES = {
    "password": {"new_password": NEW},
    "users-detail": {"password": NEW},
    "app-tokens-list": {"name": "calendar", "all_domains": True},
    "git-tokens-list": {"name": "laptop"},
    "user-password-reset": {"hand_over": True},
    "invitation": {"hand_over": True},
}
CHANGES_OF_A_USER = [
    {"password": NEW},
    {"email": "mallory@example.org"},
    {"username": "mallory"},
    {"is_active": False},
    {"is_admin": True},
    {"groups": []},
]


@pytest.fixture(params=["alice", "zoe", "eve"])
def privileged(request, alice, other):
    """Return the creator of the token, another admin, and an auditor, each with a second factor."""
    found = {"alice": alice, "zoe": other, "eve": a_user("eve", is_auditor=True)}[request.param]
    an_app(found)
    return found


def credentials_of(user):
    user.refresh_from_db()
    rows = [
        list(model.objects.filter(user=user).values())
        for model in (TotpDevice, RecoveryCode, Passkey, GitToken, AppToken, AccountLink)
    ]
    return user.password, user.email, user.session_version, user.is_active, rows


def test_the_routes_that_users_write_permits_on_a_user_are_listed():
    assert {name for name, _ in ON_A_USER} == {
        *(
            "users-detail",
            "app-tokens-list",
            "app-tokens-detail",
            "git-tokens-list",
            "git-tokens-detail",
            "passkeys-detail",
            "sessions-detail",
            "remembered-devices-detail",
            "totp-devices-detail",
        ),
        *("totp", "totp-setup", "totp-confirm", "totp-disable", "totp-unlock"),
        *("password", "invitation", "user-password-reset"),
    }


def test_an_api_token_does_nothing_to_an_admin_or_auditor(alice, privileged):
    token, before = with_api_token(an_api_token(alice, "users:write", "users:read")), credentials_of(privileged)

    for name, verb in ON_A_USER:
        body = json.dumps(BODIES.get(name, {})).encode()
        answer = token.send(verb, path_of(name, privileged.pk), body)
        assert code_of(answer) == (403, "session-required"), (name, verb)
    for values in CHANGES_OF_A_USER:
        assert code_of(token.put(f"/users/{privileged.pk}", values)) == (403, "session-required"), values
    assert credentials_of(privileged) == before


@pytest.mark.parametrize("call", ["PUT", "DELETE"])
def test_an_api_token_changes_no_provider_that_an_admin_or_auditor_signs_in_at(alice, bob, privileged, call):
    token, at = with_api_token(an_api_token(alice, "users:write")), timezone.now()
    corp = IdentityProvider.objects.create(slug="corp", name="Corp", issuer="https://login.example", client_id="wall")
    path, body = f"/identity-providers/{corp.pk}", {"trust_amr": True}
    corp.identities.create(user=bob, issuer=corp.issuer, subject="1", linked_at=at)
    assert token.put(path, body).status_code == 200
    corp.identities.create(user=privileged, issuer=corp.issuer, subject="2", linked_at=at)

    assert code_of(token.send(call, path, b"{}")) == (403, "session-required")
    assert IdentityProvider.objects.get().enabled


FACTORS = {
    "totp-setup": lambda client, user, **proof: client.post(f"/users/{user.pk}/totp/setup", proof),
    "totp-disable": lambda client, user, **proof: client.post(f"/users/{user.pk}/totp/disable", proof),
    "totp-unlock": lambda client, user, **proof: client.post(f"/users/{user.pk}/totp/unlock", proof),
}


@pytest.mark.parametrize("what", FACTORS)
def test_a_stale_session_changes_no_second_factor_of_another_without_the_password(alice, other, what):
    stale = Api(a_token(alice, at=timezone.now() - OLD))
    if what != "totp-setup":
        an_app(other)
    before = credentials_of(other)

    assert code_of(FACTORS[what](stale, other)) == (403, "reauthentication-required")
    assert code_of(FACTORS[what](stale, other, password="wrong")) == (403, "reauthentication-failed")
    assert credentials_of(other) == before
    assert FACTORS[what](stale, other, password=PASSWORD).status_code in {200, 204}


def test_the_admin_site_asks_a_stale_session_to_remove_the_factor_of_another(alice, other):
    client, page = Client(), f"/wall/admin/accounts/user/{other.pk}/change/"
    enter_admin_site(client, alice, at=timezone.now() - OLD)
    an_app(other)
    form = {"username": other.username, "is_admin": "on", "is_active": "on", "forget_second_factor": "on"}
    form |= {f"sessions-{name}": "0" for name in ("TOTAL_FORMS", "INITIAL_FORMS")}

    client.post(page, form)
    assert TotpDevice.objects.filter(user=other).exists()
    client.post(page, {**form, "current_password": PASSWORD})
    assert not TotpDevice.objects.filter(user=other).exists()
