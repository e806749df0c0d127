"""API tokens in use: what they permit, where, and when they end."""

import logging
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts import services as accounts
from accounts.models import ApiToken
from audit.models import SecurityEvent
from gatewall.api import rate
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from tests.api.tokens import BODY, INVALID, works
from tests.support.proxies import (
    PASSWORD,
    Api,
    a_token,
    a_user,
    an_api_token,
    code_of,
    with_api_token,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def test_the_last_use_is_stored_at_most_once_a_minute_and_is_no_revision(alice, clock):
    token, at = an_api_token(alice), timezone.now()
    revision = revisions.head().revision
    stored = []
    for seconds in (0, 59, 60, 61):
        clock.move_to(at + timedelta(seconds=seconds))
        assert works(token)
        stored.append((ApiToken.objects.get().last_used_at - at).total_seconds())

    assert stored == [0, 0, 60, 60]
    assert revisions.head().revision == revision


def test_a_token_ends_at_its_expiry(alice, clock):
    token = an_api_token(alice)
    clock.move_to(ApiToken.objects.get().expires_at - timedelta(seconds=1))
    assert works(token)

    clock.move_to(ApiToken.objects.get().expires_at)
    assert code_of(with_api_token(token).get("/groups")) == INVALID


@pytest.mark.parametrize("end", [{"is_admin": False}, {"is_active": False}], ids=str)
def test_a_token_ends_permanently_when_its_creator_loses_the_admin_right(alice, other, end):
    token = an_api_token(alice)
    accounts.change_user(alice, actor="zoe", **end)

    assert not works(token)
    accounts.change_user(alice, actor="zoe", is_admin=True, is_active=True)
    assert not works(token)
    counts = [each for row in PolicyRevision.objects.all() for each in row.counts if each["resource"] == "api-tokens"]
    assert [each["action"] for each in counts] == ["created", "deleted"]


def test_a_token_ends_if_the_admin_right_is_removed_directly_in_the_database(alice):
    token = an_api_token(alice)
    type(alice).objects.update(is_admin=False)

    assert code_of(with_api_token(token).get("/groups")) == INVALID


def test_a_token_ends_when_its_creator_is_deleted(alice, other):
    token = an_api_token(alice)
    accounts.delete_user(alice, actor="zoe")

    assert code_of(with_api_token(token).get("/groups")) == INVALID


@pytest.mark.parametrize(("revoke", "left"), [({}, 1), ({"revoke_api_tokens": True}, 0)])
def test_a_password_change_revokes_api_tokens_if_asked(admin, alice, revoke, left):
    token = an_api_token(alice)
    body = {"current_password": PASSWORD, "new_password": "another battery staple", **revoke}

    assert admin.put(f"/users/{alice.pk}/password", body).status_code == 200
    assert ApiToken.objects.count() == left
    assert works(token) is bool(left)


def test_a_token_works_only_from_its_networks(alice):
    token = an_api_token(alice, networks=["198.51.100.0/24", "2001:db8::/32"])

    places = {"198.51.100.7": True, "2001:db8::7": True, "::ffff:198.51.100.7": True, "203.0.113.7": False}
    assert {place: works(token, **{"X-Forwarded-For": place}) for place in places} == places
    assert not works(token)


def test_malformed_api_tokens_do_not_authenticate(alice, admin):
    token = an_api_token(alice)
    wrong = [token[:-1], f"{token}0", token.swapcase(), f"gwa_{'A' * 49}", "gwa_", an_api_token(alice, name="b")[:52]]

    assert [code_of(with_api_token(text).get("/groups")) for text in wrong[:2]] == [INVALID] * 2
    assert not any(works(text) for text in wrong)
    assert Api(Authorization=token).get("/groups").status_code == 401
    assert Api(Authorization=f"Basic {token}").get("/groups").status_code == 401
    assert Api(token).get("/groups").status_code == 401
    assert Api(cookie=token).get("/groups").status_code == 401
    assert Api(a_token(alice), Authorization="Bearer of-a-site").get("/groups").status_code == 200
    assert Api(Authorization=f"bearer  {token}").get("/groups").status_code == 200


def test_a_wrong_token_is_refused_beside_a_session(alice):
    assert Api(a_token(alice), Authorization=f"Bearer gwa_{'A' * 49}").get("/groups").status_code == 401


def test_wrong_tokens_are_throttled_and_right_ones_are_not(alice):
    token = an_api_token(alice)
    wrong = with_api_token(f"gwa_{'A' * 49}")

    answers = [wrong.get("/groups") for _ in range(11)]

    assert [code_of(each) for each in answers] == [*[INVALID] * 10, (429, "too-many-attempts")]
    assert answers[-1].headers["Retry-After"] == "30"
    browser = Client(headers={"Authorization": f"Bearer gwa_{'A' * 49}", "Accept": "text/html"})
    assert browser.get("/wall/groups").status_code == 429
    assert works(token)
    kinds = dict(SecurityEvent.objects.filter(kind__startswith="login").values_list("kind", "detail__flow"))
    assert kinds == {"login.failed": "api-token", "login.locked": "api-token"}


def test_each_token_has_a_rate_of_its_own(alice, monkeypatch):
    monkeypatch.setattr(rate, "_limit", lambda: 5)
    one, two = an_api_token(alice, name="one"), an_api_token(alice, name="two")

    assert [works(one) for _ in range(6)] == [*[True] * 5, False]
    assert works(two)
    assert Api(a_token(alice)).get("/groups").status_code == 200


def test_a_token_creates_no_admin_and_no_token(alice):
    token = with_api_token(an_api_token(alice))
    user = {"username": "dora", "password": "a battery of staples"}

    assert code_of(token.post("/users", {**user, "is_admin": True})) == (403, "session-required")
    made = token.post("/users", user).json()
    for right in ("is_admin", "is_auditor"):
        assert code_of(token.put(f"/users/{made['id']}", {right: True})) == (403, "session-required")
    auditor = a_user("eve", is_auditor=True)
    assert code_of(token.put(f"/users/{auditor.pk}", {"remark": "x"})) == (403, "session-required")
    for call in (
        lambda: token.post("/api-tokens", {**BODY, "password": PASSWORD}),
        lambda: token.get("/api-tokens"),
        lambda: token.get(f"/api-tokens/{ApiToken.objects.get().pk}"),
        lambda: token.delete(f"/api-tokens/{ApiToken.objects.get().pk}"),
    ):
        assert code_of(call()) == (403, "session-required")


def test_a_token_works_without_a_password_where_its_scope_permits(alice, bob):
    token = with_api_token(an_api_token(alice, "users:write", "system:write"))
    hook = {"name": "pager", "url": "https://hooks.example/in"}

    assert token.post("/licenses", {"name": "build farm"}).status_code == 201
    assert token.post(f"/users/{bob.pk}/git-tokens", {"name": "laptop"}).status_code == 201
    assert token.post("/webhooks", hook).status_code == 201


def test_the_browsable_page_shows_what_the_scope_permits(alice):
    token = with_api_token(an_api_token(alice, "policy:read"))

    page = token.send("GET", "/groups", media_type="", headers={"Accept": "text/html"})

    assert page.status_code == 200
    assert 'method="POST"' not in page.text
    refused = Client(headers={"Authorization": f"Bearer {an_api_token(alice, 'logs:read', name='b')}"})
    assert refused.get("/wall/groups", headers={"Accept": "text/html"}).status_code == 403


def test_no_token_is_in_the_log(alice, caplog):
    token = an_api_token(alice)
    with caplog.at_level(logging.DEBUG):
        with_api_token(token).get("/groups")
        with_api_token(token[:-1] + "0").get("/groups")
        with_api_token(token).post("/users", {"username": token})

    assert token[4:] not in caplog.text
    assert token[4:] not in str(list(SecurityEvent.objects.values()))
