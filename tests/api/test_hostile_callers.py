"""Regressions from a security review: calls that harmed other callers or ended in a 500."""

import pytest
from django.utils import timezone

from accounts import selectors, services
from accounts.models import Session
from accounts.sign_in import login, totp
from accounts.visitor import Visitor
from gatewall.api import rate
from gatewall.policy import revisions, system_settings
from policies import services as policies
from policies.history import undo
from tests.support.proxies import PASSWORD, Api, a_git_token, a_token
from tests.support.second_factor import App, secret_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "origin", ["http://[", "https://a]b", "http://\u2100", "http://", "null", "http://x@testserver"]
)
@pytest.mark.parametrize("path", ["/login", "/admin-login", "/login/2fa"])
def test_an_invalid_origin_header_is_cross_site(alice, path, origin):
    response = Api(Origin=origin).post(path, {"username": "alice", "password": PASSWORD})

    assert (response.status_code, response.json()["code"]) == (403, "cross-site")


def test_calls_with_a_guard_page_token_do_not_use_up_the_api_rate(alice, admin, monkeypatch):
    system_settings.change(actor="alice", api_requests_per_minute=60)
    monkeypatch.setattr(rate, "_remembered", (0.0, 0))
    leaked = Api(a_token(alice, audiences=["gate"]))
    for _ in range(70):
        leaked.get("/users")

    assert leaked.get("/users").status_code == 429
    assert admin.get("/users").status_code == 200


def test_token_revisions_do_not_count_towards_the_undo_limit(alice, bob, monkeypatch, admin):
    policies.block_network(actor="alice", network="203.0.113.7")
    number = revisions.current().revision
    policies.block_network(actor="alice", network="203.0.113.8")
    monkeypatch.setattr(undo, "_MAX_REVISIONS", 5)
    for name in range(8):
        a_git_token(bob, f"token {name}")

    assert admin.post(f"/policy/revisions/{number}/restore", {}).status_code == 200
    assert [row["ip"] for row in admin.get("/ip-black-list").json()["results"]] == ["203.0.113.7"]


def test_a_session_revoked_meanwhile_is_not_replaced(bob):
    visitor = Visitor("203.0.113.9", "tests")
    token = login.start_session(bob, audiences=("gate",), amr=("pwd",), visitor=visitor, at=timezone.now())
    services.revoke_session(token.jti, at=timezone.now())

    with pytest.raises(services.Gone):
        login.replace_session(
            bob, token.jti, audiences=("gate",), amr=("pwd", "otp"), visitor=visitor, at=timezone.now()
        )

    assert not selectors.live_sessions(bob.pk, timezone.now())
    assert Session.objects.count() == 1


def test_sessions_of_one_factor_end_when_the_second_is_switched_on(bob, auth):
    own, other = a_token(bob), a_token(bob)
    setup = totp.begin_setup(bob, at=timezone.now())

    confirmed = Api(own).post(f"/users/{bob.pk}/totp/confirm", {"code": App(secret_of(setup.secret)).code()})

    assert confirmed.status_code == 200
    assert [Api(token).get("/session").status_code for token in (own, other)] == [200, 401]
    assert [auth(service_authorization=token).status for token in (own, other)] == [200, 401]


def test_forms_of_the_guard_page_are_rate_limited(client, bob, monkeypatch):
    system_settings.change(actor="alice", api_requests_per_minute=60)
    monkeypatch.setattr(rate, "_remembered", (0.0, 0))
    form = {"content_type": "application/x-www-form-urlencoded"}
    statuses = {client.post("/wall/sign-out", "", **form).status_code for _ in range(70)}

    assert statuses == {303, 429}
    assert int(client.post("/wall/sign-out", "", **form).headers["Retry-After"]) > 0


def test_health_names_no_path_of_the_machine(client, db, settings):
    (settings.GATEWALL_HOME / "policy" / "current").mkdir(parents=True)

    response = client.get("/wall/health")

    assert response.status_code == 503
    assert str(settings.GATEWALL_HOME) not in response.content.decode()


@pytest.mark.parametrize("page", ["page=1.5", "page=0", "page_size=501", "page_size=x"])
def test_an_invalid_page_is_refused_with_all_true_too(admin, page):
    assert admin.get(f"/ip-white-list?all=true&{page}").status_code == 400
