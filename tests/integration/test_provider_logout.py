"""Back-channel logout and RP-initiated logout: the sessions they end, and logout tokens that are refused."""

import json
from datetime import timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from accounts.identity_providers import services
from accounts.models import Session, UsedLogoutToken, User
from gatewall.agent.housekeeping import delete_expired
from tests.api.passkeys import register
from tests.support.authenticator import Authenticator
from tests.support.openid_provider import LOGOUT
from tests.support.provider_visits import answer_of, sign_in, whys
from tests.support.proxies import Api, a_token
from tests.support.second_factor import an_app
from tests.support.visitor import FORM, Visitor, field, words

pytestmark = pytest.mark.django_db


def tell(token, slug="corp"):
    body = urlencode({"logout_token": token})
    return Client().post(f"/wall/oidc/{slug}/logout", body, content_type=FORM)


def live():
    return Session.objects.filter(revoked_at__isnull=True).count()


@pytest.fixture
def signed_in(corp, set_up):
    """Return two browsers of one user, in two sessions at the provider."""
    visitors = []
    for sid in ("session-1", "session-2"):
        corp.sid = sid
        visitors.append(Visitor())
        sign_in(visitors[-1], corp)
    return visitors


def test_a_passkey_is_the_second_factor_and_the_providers_logout_ends_the_session(corp, set_up, settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example"
    sign_in(Visitor(), corp)
    user, key, visitor = User.objects.get(username="dora"), Authenticator("https://wall.example"), Visitor()
    assert register(Api(a_token(user), Host="wall.example"), user, key).status_code == 201
    page = sign_in(visitor, corp)
    challenge = field(page, "challenge")
    assert visitor.token == ""

    begun = visitor.send("/passkey/begin", challenge=challenge).json()["public_key"]
    answer = visitor.send("/passkey", challenge=challenge, credential=json.dumps(key.get(begun)))

    assert answer.status_code == 303
    session = Session.objects.latest("issued_at")
    assert (session.amr, session.at_provider.sid) == (["mfa", "hwk", "phr", "fed"], "session-1")
    assert visitor.get("/account").status_code == 200
    assert tell(corp.logout_token()).status_code == 200
    assert visitor.get("/account").status_code == 303


@pytest.mark.parametrize(
    ("claims", "left"),
    [
        ({"sid": "session-1", "sub": None}, 1),
        ({"sid": "session-1"}, 1),
        ({"sid": None}, 0),
        ({"sid": "other"}, 2),
        ({"sub": "sub-of-another", "sid": None}, 2),
        ({"sub": "sub-of-another", "sid": "session-1"}, 2),
    ],
)
def test_a_logout_token_ends_the_sessions_that_it_names(corp, signed_in, claims, left):
    answer = tell(corp.logout_token(**claims))

    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    assert live() == left
    assert (signed_in[0].get("/account").status_code == 200) == (left == 2)


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"aud": "another-client"}, "audience"),
        ({"iss": "https://attacker.example"}, "issuer"),
        ({"events": None}, "no-logout"),
        ({"events": [LOGOUT]}, "no-logout"),
        ({"events": {"http://schemas.openid.net/event/other": {}}}, "no-logout"),
        ({"nonce": "a-nonce"}, "no-logout"),
        ({"sub": None, "sid": None}, "malformed"),
        ({"jti": None}, "malformed"),
        ({"jti": 7}, "malformed"),
        ({"exp": 1_000_000_000}, "expired"),
        ({"exp": 4_000_000_000}, "expired"),
        ({"iat": None}, "malformed"),
    ],
)
def test_a_logout_token_that_is_wrong_ends_nothing(corp, signed_in, claims, why):
    answer = tell(corp.logout_token(**claims))

    assert (answer.status_code, answer.headers["Cache-Control"]) == (400, "no-store")
    assert json.loads(answer.content)["error"] == "invalid_request"
    assert whys("provider.refused") == [why]
    assert live() == 2


def test_an_id_token_is_no_logout_token(corp, signed_in):
    assert tell(corp.id_token()).status_code == 400
    assert live() == 2


def test_an_unsigned_logout_token_is_refused(corp, signed_in):
    head, body, _ = corp.logout_token().split(".")

    assert tell(f"{head}.{body}.").status_code == 400
    assert live() == 2


def test_logout_token_replay(corp, signed_in):
    token = corp.logout_token()
    assert tell(token).status_code == 200
    sign_in(Visitor(), corp)

    assert tell(token).status_code == 400
    assert live() == 2


def test_a_used_logout_token_is_remembered_until_it_has_expired(corp, set_up, clock):
    corp.clock = lambda: timezone.now().timestamp()
    tell(corp.logout_token())
    clock.shift(timedelta(minutes=3))
    assert (delete_expired(UsedLogoutToken, timezone.now()), UsedLogoutToken.objects.count()) == (0, 1)
    clock.shift(timedelta(minutes=10))

    assert (delete_expired(UsedLogoutToken, timezone.now()), UsedLogoutToken.objects.count()) == (1, 0)


@pytest.mark.parametrize("slug", ["nobody", "other"])
def test_a_provider_ends_no_session_of_another(corp, set_up, signed_in, slug):
    services.create_provider(actor="alice", **corp.settings(slug="other", name="Other"))

    tell(corp.logout_token(sid=None), slug)
    assert live() == 2


def test_a_sign_in_that_waits_for_the_second_factor_is_ended_too(corp, set_up):
    sign_in(Visitor(), corp)
    app, visitor = an_app(User.objects.get(username="dora")), Visitor()
    page = sign_in(visitor, corp)
    assert tell(corp.logout_token()).status_code == 200

    assert visitor.send("/second-factor", challenge=field(page, "challenge"), code=app.code()).status_code == 401
    assert live() == 0


def test_a_session_that_replaced_another_is_ended(corp, set_up):
    visitor = Visitor()
    sign_in(visitor, corp)
    app = an_app(User.objects.get(username="dora"))
    assert visitor.send("/step-up", code=app.code()).status_code == 303
    assert live() == 1

    tell(corp.logout_token())
    assert live() == 0


@pytest.mark.parametrize("change", [{"enabled": False}, {"issuer": "https://elsewhere.example"}, {"client_id": "x"}])
def test_a_provider_that_is_switched_off_ends_its_sessions(corp, set_up, signed_in, change):
    set_up(name="Renamed")
    assert live() == 2
    set_up(**change)

    assert live() == 0
    assert signed_in[0].get("/account").status_code == 303


def test_a_provider_that_is_deleted_ends_its_sessions(corp, set_up, signed_in):
    services.delete_provider(services.IdentityProvider.objects.get(), actor="alice")

    assert live() == 0
    assert User.objects.filter(username="dora").exists()
    assert tell(corp.logout_token()).status_code == 400


def test_signing_out_offers_to_sign_out_at_the_provider(corp, set_up):
    visitor = Visitor()
    sign_in(visitor, corp)
    page = visitor.send("/sign-out")
    assert "You may still be signed in at Corp." in words(page)
    href = page.text.split('class="button" href="')[1].split('"')[0]
    answer = visitor.get(
        href.removeprefix("/wall").partition("?")[0], {"session": parse_qs(urlsplit(href).query)["session"][0]}
    )

    there = answer.headers["Location"]
    assert there.startswith(f"{corp.issuer}/end_session?")
    assert answer_of(there)["post_logout_redirect_uri"] == "https://wall.example/wall/"
    assert answer_of(there)["id_token_hint"].count(".") == 2


@pytest.mark.parametrize("session", ["", "forged", "00000000-0000-4000-8000-000000000000"])
def test_a_forged_link_to_sign_out_there_shows_no_id_token(corp, set_up, session):
    sign_in(Visitor(), corp)

    assert (
        Visitor().get("/oidc/corp/sign-out", {"session": session}).headers["Location"] == "https://wall.example/wall/"
    )


def test_a_provider_without_an_end_session_endpoint_redirects_home(corp, set_up):
    corp.discovery = {"end_session_endpoint": None}
    visitor = Visitor()
    sign_in(visitor, corp)
    href = visitor.send("/sign-out").text.split('class="button" href="')[1].split('"')[0]

    answer = visitor.get("/oidc/corp/sign-out", {"session": parse_qs(urlsplit(href).query)["session"][0]})
    assert answer.headers["Location"] == "https://wall.example/wall/"
