"""API tokens on the account page of an admin: own ones are listed with their last use and deleted."""

import pytest

from accounts.models import ApiToken
from tests.support.proxies import a_token, an_api_token, code_of, with_api_token
from tests.support.visitor import Visitor, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(alice):
    visitor = Visitor()
    visitor.token = a_token(alice, audiences=["gate"])
    return visitor


def test_an_admin_sees_the_last_use_and_deletes_a_token(visitor, alice):
    text = an_api_token(alice, "users:read", name="backup")
    page = visitor.get("/account")
    assert "backup" in words(page)
    assert "not used yet" in words(page)
    assert text not in page.text
    with_api_token(text).get("/users")
    assert "last used" in words(visitor.get("/account")).partition("backup")[2]

    answer = visitor.send("/account/api-tokens/delete", id=str(ApiToken.objects.get().pk))

    assert answer.headers["Location"] == "/wall/account?done=api-token"
    assert "The API token is deleted." in words(visitor.get("/account", {"done": "api-token"}))
    assert code_of(with_api_token(text).get("/users"))[0] == 401


def test_many_api_tokens_with_long_names_are_paged(visitor, alice):
    for number in range(7):
        an_api_token(alice, "users:read", name=f"{number}" + "&" * 99)

    assert 'href="?api=2"' in visitor.get("/account").text
    assert "0&amp;" in visitor.get("/account", {"api": "3"}).text


def test_a_user_without_one_sees_no_list(bob):
    visitor = Visitor()
    visitor.token = a_token(bob, audiences=["gate"])

    assert "API tokens" not in words(visitor.get("/account"))


@pytest.mark.parametrize("caller", ["another", "nobody", "another site"])
def test_only_its_owner_deletes_an_api_token_from_our_own_page(alice, bob, caller):
    an_api_token(alice)
    visitor, headers = Visitor(), {"Sec-Fetch-Site": "cross-site"} if caller == "another site" else {}
    if caller != "nobody":
        visitor.token = a_token(bob if caller == "another" else alice, audiences=["gate"])

    answer = visitor.send("/account/api-tokens/delete", headers, id=str(ApiToken.objects.get().pk))

    assert answer.status_code == {"another": 404, "nobody": 303, "another site": 403}[caller]
    assert ApiToken.objects.count() == 1
