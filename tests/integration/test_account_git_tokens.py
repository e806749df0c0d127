"""Git tokens of the own account."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from licensing.models import GitToken
from tests.visitor import FORM, Visitor, words
from tests.wall import a_git_token

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
    ("days", "lives"), [("30", 30), ("90", 90), ("365", 365), ("", None), ("99999", None), ("x", None)]
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


def test_there_is_an_end_to_git_tokens(visitor, bob):
    for number in range(50):
        a_git_token(bob, name=str(number))

    page = visitor.send("/account/git-tokens", name="one more", days="30")

    assert (page.status_code, "Delete one first." in words(page)) == (409, True)


def test_a_git_token_of_ones_own_can_be_deleted(visitor, bob, auth):
    token = a_git_token(bob)

    assert visitor.send("/account/git-tokens/delete", id=str(GitToken.objects.get().pk)).status_code == 303
    assert auth(service_git_token=f"Bob:{token}").status == 401


@pytest.mark.parametrize("text", ["{theirs}", "999999", "-1", "x", "1" * 30, "", "\uff11"])
def test_no_other_git_token_can_be_deleted(visitor, alice, text):
    a_git_token(alice)
    theirs = GitToken.objects.get().pk

    page = visitor.send("/account/git-tokens/delete", id=text.format(theirs=theirs))

    assert page.status_code == 404
    assert GitToken.objects.filter(pk=theirs).exists()


def test_the_form_is_the_one_that_browsers_send(visitor):
    assert FORM == "application/x-www-form-urlencoded"
    assert "enctype" not in visitor.get("/account").text
