"""Hand-written requests of an admin's browser reveal and break nothing."""

import pytest

from accounts.models import User
from tests.admin.conftest import ADMIN, Pages
from tests.support.proxies import PASSWORD, a_git_token, a_license

HIDDEN = [
    "/accounts/user/?password__startswith=argon",
    "/accounts/user/?password=a",
    "/licensing/license/?digest__startswith=a",
    "/licensing/gittoken/?digest__regex=a",
    "/licensing/gittoken/?user__password__startswith=a",
]


@pytest.mark.parametrize("path", HIDDEN)
def test_filters_by_hidden_fields_are_refused(pages, bob, path):
    a_license()
    a_git_token(bob)

    assert pages.get(path).status_code == 400


def test_filters_by_shown_fields_are_accepted(pages, bob):
    assert pages.get("/accounts/user/?is_admin__exact=1").status_code == 200


@pytest.mark.parametrize("id_", ["9" * 30, "-1", "\u0661", "a", "1.5", "9" * 18], ids=repr)
def test_the_page_refuses_an_invalid_domain(pages, office, id_):
    written = {"username": "dave", "new_password": PASSWORD, "authorized_domains": [office.pk, id_]}

    response = pages.submit("/accounts/user/add/", **written)

    assert response.status_code == 200
    assert not User.objects.filter(username="dave").exists()


@pytest.mark.parametrize("email", ['"dave"@office.example', '"a\x01"@office.example'])
def test_the_page_refuses_a_quoted_mail_address(pages, email):
    response = pages.submit("/accounts/user/add/", username="dave", new_password=PASSWORD, email=email)

    assert response.status_code == 200
    assert not User.objects.filter(username="dave").exists()


def test_the_page_refuses_a_year_of_three_digits(pages):
    moment = {"expires_at_0": "0999-12-31", "expires_at_1": "12:00:00"}

    response = pages.submit("/licensing/license/add/", name="build", **moment)

    assert response.status_code == 200
    assert "the year is at least 1000" in response.text


def test_signing_in_without_a_redirect_parameter_ends_on_the_index(alice, client):
    response = client.post(f"{ADMIN}/login/", {"username": "alice", "password": PASSWORD})

    assert (response.status_code, response.headers["Location"]) == (302, f"{ADMIN}/")


def test_anonymous_visitors_are_redirected_to_sign_in(alice):
    assert Pages().get("/").status_code == 302
