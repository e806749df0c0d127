"""Git tokens on the account page."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from accounts import services
from accounts.models import ApiToken
from audit.models import UseCount
from licensing.models import GitToken
from tests.support.proxies import PASSWORD, a_git_token, a_token, an_api_token
from tests.support.visitor import FORM, Visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(bob):
    visitor = Visitor()
    visitor.sign_in()
    return visitor


def new_token(page):
    return re.search(r'class="secret">([^<]+)<', page.text)[1]


def test_a_git_token_is_shown_on_its_answer_and_nowhere_else(visitor, auth):
    page = visitor.send("/account/git-tokens", name=" laptop ", days="30")
    token = new_token(page)

    assert page.status_code == 201
    assert auth(service_git_token=f"Bob:{token}").reason == "git-token-valid"
    assert token not in visitor.get("/account").text
    assert GitToken.objects.get().name == "laptop"


@pytest.mark.parametrize(
    ("days", "lives"), [("30", 30), ("90", 90), ("365", 365), ("never", None), ("", 90), ("99999", 90), ("x", 90)]
)
def test_a_git_token_lives_as_long_as_was_chosen(visitor, days, lives):
    visitor.send("/account/git-tokens", name="laptop", days=days)

    expires_at = GitToken.objects.get().expires_at
    left = None if expires_at is None else round((expires_at - timezone.now()) / timedelta(days=1))
    assert left == lives


@pytest.mark.parametrize(("name", "status"), [("", 400), (" ", 400), ("x" * 101, 400), ("a\0b", 400), ("laptop", 409)])
def test_a_git_token_that_is_refused_is_not_made(visitor, bob, name, status):
    a_git_token(bob, name="laptop")

    page = visitor.send("/account/git-tokens", name=name, days="30")

    assert (page.status_code, 'role="alert"' in page.text) == (status, True)
    assert GitToken.objects.count() == 1


def test_the_number_of_git_tokens_is_limited(visitor, bob):
    for number in range(50):
        a_git_token(bob, name=str(number))

    page = visitor.send("/account/git-tokens", name="one more", days="30")

    assert (page.status_code, "Delete one first." in words(page)) == (409, True)


def test_a_user_can_delete_their_own_git_token(visitor, bob, auth):
    token = a_git_token(bob)

    assert visitor.send("/account/git-tokens/delete", id=str(GitToken.objects.get().pk)).status_code == 303
    assert auth(service_git_token=f"Bob:{token}").status == 401


def test_the_last_use_of_a_git_token_is_shown(visitor, bob):
    a_git_token(bob)
    assert "not used yet" in words(visitor.get("/account"))

    at = datetime(2026, 3, 1, tzinfo=UTC)
    UseCount.objects.create(kind="git-token", row_id=GitToken.objects.get().pk, count=1, last_at=at)
    assert "last used March 1, 2026" in words(visitor.get("/account"))


@pytest.mark.parametrize("text", ["{theirs}", "999999", "-1", "x", "1" * 30, "", "\uff11"])
def test_a_user_can_delete_only_their_own_git_tokens(visitor, alice, text):
    a_git_token(alice)
    theirs = GitToken.objects.get().pk

    page = visitor.send("/account/git-tokens/delete", id=text.format(theirs=theirs))

    assert page.status_code == 404
    assert GitToken.objects.filter(pk=theirs).exists()


def test_the_form_is_the_one_that_browsers_send(visitor):
    assert FORM == "application/x-www-form-urlencoded"
    assert "enctype" not in visitor.get("/account").text


def test_a_page_that_was_opened_long_ago_asks_for_the_password(bob):
    visitor = Visitor()
    visitor.token = a_token(bob, audiences=["gate"], at=timezone.now() - timedelta(minutes=10))
    assert 'name="password"' in visitor.get("/account").text

    refused = visitor.send("/account/git-tokens", name="laptop", days="30")
    assert (refused.status_code, "Please enter your password." in words(refused)) == (403, True)
    wrong = visitor.send("/account/git-tokens", name="laptop", days="30", password="wrong")
    assert (wrong.status_code, GitToken.objects.count()) == (403, 0)

    assert visitor.send("/account/git-tokens", name="laptop", days="30", password=PASSWORD).status_code == 201


@pytest.mark.parametrize(("fields", "left"), [({}, 1), ({"revoke_git_tokens": "on"}, 0)])
def test_a_new_password_deletes_git_tokens_where_the_box_is_ticked(visitor, bob, fields, left):
    a_git_token(bob)

    visitor.send("/account/password", current=PASSWORD, new="another battery staple", **fields)

    assert GitToken.objects.count() == left


@pytest.mark.parametrize(("fields", "left"), [({}, 1), ({"revoke_api_tokens": "on"}, 0)])
def test_a_new_password_deletes_api_tokens_where_the_box_is_ticked(visitor, bob, fields, left):
    page = visitor.get("/account").content.decode()
    assert "revoke_api_tokens" not in page
    services.change_user(bob, actor="alice", is_admin=True)
    an_api_token(bob)
    assert "revoke_api_tokens" in visitor.get("/account").content.decode()

    visitor.send("/account/password", current=PASSWORD, new="another battery staple", **fields)

    assert (ApiToken.objects.count(), GitToken.objects.count()) == (left, 0)
