"""What holds for the rows of every resource: create, show, change, delete."""

import pytest

from tests.api.resources import CHANGEABLE, KINDS, fields_refused, make

pytestmark = pytest.mark.django_db
ALL_KINDS = pytest.mark.parametrize("kind", KINDS, ids=str)
CHANGEABLE_KINDS = pytest.mark.parametrize("kind", CHANGEABLE, ids=str)
ONCE = {"token", "secret", "warnings"}
SOON = {"next_at"}
"""A list that was changed is due at once, which may be a second later."""
"""What the creator sees and nobody after."""


@ALL_KINDS
def test_a_created_row_is_where_its_location_says(admin, kind):
    response = admin.post(kind.path, kind.body(0))
    shown = admin.get(response.headers["Location"].removeprefix("/wall"))

    assert (response.status_code, shown.status_code) == (201, 200)
    assert shown.json() == {name: value for name, value in response.json().items() if name not in ONCE}


@ALL_KINDS
def test_a_row_says_when_and_by_whom_it_was_made(admin, kind):
    body = make(admin, kind)[0]

    assert body["created_by"] == "alice"
    assert body["created_at"].endswith("Z")
    assert body["id"] >= 1


@ALL_KINDS
def test_a_list_shows_what_the_row_shows(admin, kind):
    id_ = make(admin, kind)[0]["id"]

    listed = next(row for row in admin.get(kind.path).json()["results"] if row["id"] == id_)

    assert listed == admin.get(f"{kind.path}/{id_}").json()


@ALL_KINDS
def test_a_row_that_is_not_there_is_not_found(admin, kind):
    verbs = [admin.get, admin.delete] + ([lambda path: admin.put(path, {})] if kind.change else [])

    for id_ in ("999999", "0", "-1", "abc", "1.0", "9" * 30, "%00", "1%2F2", "١"):  # noqa: RUF001
        assert {verb(f"{kind.path}/{id_}").status_code for verb in verbs} == {404}, id_


@ALL_KINDS
def test_a_deleted_row_is_gone(admin, kind):
    path = f"{kind.path}/{make(admin, kind)[0]['id']}"

    answers = [admin.delete(path), admin.get(path), admin.delete(path)]

    assert [answer.status_code for answer in answers] == [204, 404, 404]
    assert answers[0].content == b""


@ALL_KINDS
def test_patch_is_not_allowed(admin, kind):
    response = admin.send("PATCH", f"{kind.path}/{make(admin, kind)[0]['id']}", b"{}")

    assert response.status_code == 405
    assert "PATCH" not in response.headers["Allow"]


@ALL_KINDS
def test_options_says_what_is_allowed(admin, kind):
    assert admin.send("OPTIONS", kind.path).status_code == 200


@ALL_KINDS
def test_the_browsable_pages_are_pages(wall, alice, kind):
    from django.test import Client  # noqa: PLC0415

    client = Client(headers={"Service-Authorization": wall.a_token(alice), "Accept": "text/html"})
    id_ = make(wall.Api(wall.a_token(alice)), kind)[0]["id"]

    for path in (kind.path, f"{kind.path}/{id_}"):
        response = client.get(f"/wall{path}")
        assert response.status_code == 200
        assert "unsafe" not in response.headers["Content-Security-Policy"]


@CHANGEABLE_KINDS
def test_a_change_changes_what_is_sent_and_nothing_else(admin, kind):
    before = make(admin, kind)[0]

    response = admin.put(f"{kind.path}/{before['id']}", kind.change)

    assert response.status_code == 200
    after = {name: value for name, value in response.json().items() if name not in SOON}
    assert after == {name: value for name, value in before.items() if name not in ONCE | SOON} | kind.change
    assert admin.get(f"{kind.path}/{before['id']}").json() == response.json()


@CHANGEABLE_KINDS
def test_a_change_of_nothing_changes_nothing(admin, kind):
    path = f"{kind.path}/{make(admin, kind)[0]['id']}"
    before = admin.get(path).json()

    assert admin.put(path, {}).json() == before


@CHANGEABLE_KINDS
def test_a_row_may_be_sent_back_as_it_was_shown(admin, kind):
    path = f"{kind.path}/{make(admin, kind)[0]['id']}"
    before = admin.get(path).json()

    response = admin.put(path, before)

    assert (response.status_code, response.json()) == (200, before)


@CHANGEABLE_KINDS
def test_a_read_only_field_with_another_value_is_refused(admin, kind):
    path = f"{kind.path}/{make(admin, kind)[-1]['id']}"
    shown = admin.get(path).json()

    for name, value in kind.read_only.items():
        other = value if shown[name] != value else 999_999
        assert fields_refused(admin.put(path, {name: other})) == {name}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.change], ids=str)
def test_what_cannot_be_changed_says_so(admin, kind):
    assert admin.put(f"{kind.path}/{make(admin, kind)[0]['id']}", {}).status_code == 405
