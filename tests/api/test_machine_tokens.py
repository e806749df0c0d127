"""Licenses and git tokens: the token is shown once, and only its digest is stored."""

import hashlib

import pytest

from licensing.models import GitToken, License
from tests.api.resources import fields_refused
from tests.support.proxies import a_git_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def tokens_of_bob(bob):
    return f"/users/{bob.pk}/git-tokens"


def code(response):
    return response.status_code, response.json()["code"]


def test_a_license_token_is_shown_when_it_is_made(admin):
    body = admin.post("/licenses", {"name": "build"}).json()

    assert body["token"].startswith("gwl_")
    assert body["token"].startswith(body["prefix"])


def test_a_license_token_is_never_shown_again(admin):
    id_ = admin.post("/licenses", {"name": "build"}).json()["id"]
    shown = [admin.get(f"/licenses/{id_}").json(), admin.put(f"/licenses/{id_}", {"remark": "a"}).json()]

    assert all("token" not in body and "digest" not in body for body in shown)


def test_only_the_digest_of_a_license_is_stored(admin):
    token = admin.post("/licenses", {"name": "build"}).json()["token"]
    row = License.objects.values().get()

    assert row["digest"] == hashlib.sha256(token.encode()).hexdigest()
    assert token not in {str(value) for value in row.values()}


def test_the_name_of_a_license_is_taken_once(admin):
    admin.post("/licenses", {"name": "build"})

    assert code(admin.post("/licenses", {"name": "build"})) == (409, "duplicate")


def test_a_change_leaves_the_token(admin, auth):
    body = admin.post("/licenses", {"name": "build"}).json()

    admin.put(f"/licenses/{body['id']}", {"name": "farm", "expires_at": "2099-01-01T00:00:00Z"})

    assert auth(service_license=body["token"]).status == 200


@pytest.mark.parametrize("name", ["token", "digest", "prefix"])
def test_a_token_cannot_be_chosen(admin, name):
    body = {"name": "build", name: "gwl_0000000000000000000000000000000000000000000000000"}

    assert fields_refused(admin.post("/licenses", body)) == {name}


def test_two_tokens_are_never_the_same(admin):
    tokens = {admin.post("/licenses", {"name": f"build {number}"}).json()["token"] for number in range(20)}

    assert len(tokens) == 20


def test_a_user_makes_a_git_token_for_themselves(user, tokens_of_bob):
    response = user.post(tokens_of_bob, {"name": "laptop"})

    assert response.status_code == 201
    assert response.json()["token"].startswith("gwg_")
    assert user.get(response.headers["Location"].removeprefix("/wall")).status_code == 200


def test_a_git_token_is_never_shown_again(user, tokens_of_bob):
    token = user.post(tokens_of_bob, {"name": "laptop"}).json()["token"]
    listed = user.get(tokens_of_bob)

    assert token not in listed.text
    assert GitToken.objects.get().digest not in listed.text


def test_an_admin_makes_a_git_token_for_a_user(admin, auth, tokens_of_bob):
    token = admin.post(tokens_of_bob, {"name": "laptop"}).json()["token"]

    assert auth(service_git_token=f"Bob:{token}").headers["Remote-User"] == "Bob"


def test_a_user_creates_no_git_token_for_another(user, alice):
    assert user.post(f"/users/{alice.pk}/git-tokens", {"name": "laptop"}).status_code == 403


def test_a_user_does_not_see_the_git_tokens_of_another(user, alice):
    a_git_token(alice)

    assert user.get(f"/users/{alice.pk}/git-tokens").status_code == 403


def test_a_token_is_not_found_under_another_user(admin, alice, bob):
    a_git_token(alice)
    path = f"/users/{bob.pk}/git-tokens/{GitToken.objects.get().pk}"

    assert (admin.get(path).status_code, admin.delete(path).status_code) == (404, 404)


def test_tokens_of_a_missing_user_are_not_found(admin):
    answers = [admin.get("/users/999999/git-tokens"), admin.post("/users/999999/git-tokens", {"name": "laptop"})]

    assert [answer.status_code for answer in answers] == [404, 404]


def test_the_name_of_a_git_token_is_taken_once_a_user(admin, alice, tokens_of_bob):
    answers = [
        admin.post(path, {"name": "laptop"}) for path in (tokens_of_bob, f"/users/{alice.pk}/git-tokens", tokens_of_bob)
    ]

    assert [answer.status_code for answer in answers] == [201, 201, 409]


def test_a_git_token_is_deleted_by_its_user(user, auth, tokens_of_bob):
    body = user.post(tokens_of_bob, {"name": "laptop"}).json()

    answers = [user.delete(f"{tokens_of_bob}/{body['id']}") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [204, 404]
    assert auth(service_git_token=f"Bob:{body['token']}").status == 401


def test_a_git_token_cannot_be_changed(admin, tokens_of_bob):
    id_ = admin.post(tokens_of_bob, {"name": "laptop"}).json()["id"]

    assert admin.put(f"{tokens_of_bob}/{id_}", {"name": "desktop"}).status_code == 405


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": "x" * 101}, {"name": 5}], ids=repr)
def test_a_git_token_needs_a_name(admin, tokens_of_bob, body):
    assert fields_refused(admin.post(tokens_of_bob, body)) == {"name"}


def test_the_list_of_git_tokens_takes_a_fixed_number_of_statements(user, bob, tokens_of_bob, django_assert_num_queries):
    for number in range(5):
        a_git_token(bob, f"machine {number}")

    with django_assert_num_queries(5):
        assert user.get(tokens_of_bob).json()["count"] == 5


def test_a_user_has_at_most_fifty_git_tokens(user, bob, alice, tokens_of_bob):
    issued = [user.post(tokens_of_bob, {"name": f"laptop {number}"}) for number in range(51)]

    assert [answer.status_code for answer in issued] == [201] * 50 + [409]
    assert code(issued[50]) == (409, "too-many-git-tokens")
    assert a_git_token(alice)


def test_deleting_a_git_token_makes_room_for_another(user, bob, tokens_of_bob):
    first, *_ = [user.post(tokens_of_bob, {"name": f"laptop {number}"}).json()["id"] for number in range(50)]

    user.delete(f"{tokens_of_bob}/{first}")

    assert user.post(tokens_of_bob, {"name": "one more"}).status_code == 201
