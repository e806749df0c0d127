"""Users: case-insensitive names, password rules, and protection of the last admin."""

import pytest

from accounts.models import Session, User
from tests.api.resources import fields_refused
from tests.support.proxies import PASSWORD, Api, a_token, a_user

pytestmark = pytest.mark.django_db


def code(response):
    return response.status_code, response.json()["code"]


def test_a_user_has_its_defaults(admin):
    body = admin.post("/users", {"username": "dora", "password": PASSWORD}).json()

    expected = {
        "email": "",
        "is_admin": False,
        "is_active": True,
        "all_domains": True,
        "authorized_domains": [],
        "remark": "",
        "last_login_at": None,
        "session_count": 0,
    }
    assert {name: body[name] for name in expected} == expected


def test_the_password_is_never_shown(admin):
    body = admin.post("/users", {"username": "dora", "password": PASSWORD}).json()

    assert "password" not in body


@pytest.mark.parametrize("name", ["BOB", "bob", "boB"])
def test_the_same_name_in_other_case_is_a_duplicate(admin, bob, name):
    assert code(admin.post("/users", {"username": name, "password": PASSWORD})) == (409, "duplicate")


def test_a_user_cannot_take_the_name_of_another(admin, bob, charlie):
    assert code(admin.put(f"/users/{charlie.pk}", {"username": "BOB"})) == (409, "duplicate")


def test_a_user_may_change_the_case_of_their_name(admin, bob):
    assert admin.put(f"/users/{bob.pk}", {"username": "BOB"}).json()["username"] == "BOB"


@pytest.mark.parametrize("name", ["ab", "a" * 65, "bob smith", "bob:", "bob/", "böb", "bob\n", "", "bob\u200b", "ʙob"])
def test_a_name_of_other_characters_is_refused(admin, name):
    if name == "bob\n":
        assert admin.post("/users", {"username": name, "password": PASSWORD}).json()["username"] == "bob"
        return
    assert fields_refused(admin.post("/users", {"username": name, "password": PASSWORD})) == {"username"}


@pytest.mark.parametrize(
    "password",
    ["short", "x" * 129, "password", "12345678", "", None, 12345678, "nul\0nul\0nul"],
    ids=["short", "long", "common", "digits", "empty", "null", "number", "NUL"],
)
def test_an_invalid_password_is_refused(admin, password):
    assert fields_refused(admin.post("/users", {"username": "dora", "password": password})) == {"password"}


@pytest.mark.parametrize("password", ["x1y2z3w4", "p" * 64 + "q" * 64, "pässwörter im Regen", " spaces  around "])
def test_a_password_is_stored_unmodified(admin, anonymous, password):
    admin.post("/users", {"username": "dora", "password": password})

    assert anonymous.post("/login", {"username": "dora", "password": password}).status_code == 200


@pytest.mark.parametrize(
    "email",
    [
        "dora",
        "dora@",
        "a@b@c.example",
        "dora@office",
        5,
        '"dora"@office.example',
        '"do\\\\ra"@office.example',
        '"a\x01b"@office.example',
        '"a\tb"@office.example',
        "a\x7f@office.example",
    ],
)
def test_an_invalid_mail_address_is_refused(admin, email):
    body = {"username": "dora", "password": PASSWORD, "email": email}

    assert fields_refused(admin.post("/users", body)) == {"email"}


def test_a_user_is_given_domains_by_their_names(admin, office):
    body = {"username": "dora", "password": PASSWORD, "all_domains": False, "authorized_domains": ["OFFICE.example"]}

    assert admin.post("/users", body).json()["authorized_domains"] == ["office.example"]


@pytest.mark.parametrize("domains", [["nobody.example"], "office.example", [5], [None], {"a": 1}, None], ids=repr)
def test_unregistered_domains_are_refused(admin, office, domains):
    response = admin.post("/users", {"username": "dora", "password": PASSWORD, "authorized_domains": domains})

    assert {field.partition(".")[0] for field in fields_refused(response)} == {"authorized_domains"}


def test_a_user_can_lose_all_domains(admin, charlie):
    assert admin.put(f"/users/{charlie.pk}", {"authorized_domains": []}).json()["authorized_domains"] == []


@pytest.mark.parametrize("body", [{"is_admin": False}, {"is_active": False}], ids=["demote", "disable"])
def test_the_last_admin_cannot_be_demoted_or_disabled(admin, alice, body):
    assert code(admin.put(f"/users/{alice.pk}", body)) == (409, "last-admin")


def test_the_last_admin_cannot_be_deleted(admin, alice):
    assert code(admin.delete(f"/users/{alice.pk}")) == (409, "last-admin")


def test_a_disabled_admin_does_not_count_as_the_last_admin(admin, alice):
    a_user("dora", is_admin=True, is_active=False)

    assert code(admin.delete(f"/users/{alice.pk}")) == (409, "last-admin")


def test_one_of_two_admins_can_be_deleted(admin):
    other = a_user("dora", is_admin=True)

    assert admin.delete(f"/users/{other.pk}").status_code == 204


def test_the_last_admin_may_change_everything_else(admin, alice):
    assert admin.put(f"/users/{alice.pk}", {"is_admin": True, "remark": "me"}).status_code == 200


def test_the_sessions_of_a_user_are_counted_while_they_live(admin, bob):
    for _ in range(3):
        a_token(bob)
    Session.objects.filter(user=bob).first().delete()

    assert admin.get(f"/users/{bob.pk}").json()["session_count"] == 2


def test_a_new_password_ends_the_sessions(admin, bob):
    a_token(bob)

    body = admin.put(f"/users/{bob.pk}", {"password": f"{PASSWORD} 2"}).json()

    assert body["session_count"] == 0


def test_the_sessions_survive_other_changes(admin, bob):
    a_token(bob)

    assert admin.put(f"/users/{bob.pk}", {"remark": "a", "all_domains": False}).json()["session_count"] == 1


def test_a_user_sees_themselves(user, bob):
    assert user.get(f"/users/{bob.pk}").json()["username"] == "Bob"


@pytest.mark.parametrize("verb", ["put", "delete"])
def test_a_user_cannot_change_themselves(user, bob, verb):
    assert getattr(user, verb)(f"/users/{bob.pk}").status_code == 403


def test_a_user_does_not_see_another(user, alice):
    assert user.get(f"/users/{alice.pk}").status_code == 403


def test_a_user_cannot_find_out_which_users_exist(user):
    assert user.get("/users/999999").status_code == 403


def test_the_list_of_users_takes_a_fixed_number_of_statements(admin, office, django_assert_num_queries):
    for number in range(5):
        a_token(a_user(f"person{number}", authorized_domains=[office]))

    with django_assert_num_queries(5):
        body = admin.get("/users").json()

    assert body["count"] == User.objects.count() == 6


def test_a_deleted_user_takes_the_git_tokens_along(admin, bob):
    admin.post(f"/users/{bob.pk}/git-tokens", {"name": "laptop"})

    assert admin.delete(f"/users/{bob.pk}").status_code == 204
    assert admin.get(f"/users/{bob.pk}/git-tokens").status_code == 404


def test_a_disabled_admin_is_out_at_once(alice):
    other = a_user("dora", is_admin=True)
    client = Api(a_token(other))
    Api(a_token(alice)).put(f"/users/{other.pk}", {"is_active": False})

    assert client.get("/users").status_code == 401
