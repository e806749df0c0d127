"""Properties of the rows of every resource: create, show, change, delete."""

import pytest

from tests.api.resources import CHANGEABLE, KINDS, fields_refused, make

pytestmark = pytest.mark.django_db
ALL_KINDS = pytest.mark.parametrize("kind", KINDS, ids=str)
CHANGEABLE_KINDS = pytest.mark.parametrize("kind", CHANGEABLE, ids=str)
ONCE = {"token", "secret", "warnings"}
SOON = {"next_at"}
"""A changed list is due at once, so this time may change by a second."""
"""Fields that are shown only in the response to the creation."""


@ALL_KINDS
def test_a_created_row_is_found_at_its_location_and_in_the_list(admin, kind):
    response = admin.post(kind.path, kind.body(0))
    body = response.json()
    assert response.status_code == 201
    assert body["created_by"] == "alice"
    assert body["created_at"].endswith("Z")
    assert body["id"] >= 1

    shown = admin.get(response.headers["Location"].removeprefix("/wall"))
    assert shown.status_code == 200
    assert shown.json() == {name: value for name, value in body.items() if name not in ONCE}
    assert shown.json() in admin.get(kind.path).json()["results"]
    assert shown.json() == admin.get(f"{kind.path}/{body['id']}").json()


@ALL_KINDS
def test_a_missing_row_is_not_found(admin, kind):
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
def test_a_change_affects_only_the_sent_fields(admin, kind):
    before = make(admin, kind)[0]

    response = admin.put(f"{kind.path}/{before['id']}", kind.change)

    assert response.status_code == 200
    after = {name: value for name, value in response.json().items() if name not in SOON}
    assert after == {name: value for name, value in before.items() if name not in ONCE | SOON} | kind.change
    assert admin.get(f"{kind.path}/{before['id']}").json() == response.json()


@CHANGEABLE_KINDS
def test_a_row_that_is_sent_back_changes_nothing_and_read_only_fields_are_refused(admin, kind):
    path = f"{kind.path}/{make(admin, kind)[0]['id']}"
    before = admin.get(path).json()

    for sent in ({}, before):
        response = admin.put(path, sent)
        assert (response.status_code, response.json()) == (200, before)
    for name, value in kind.read_only.items():
        other = value if before[name] != value else 999_999
        assert fields_refused(admin.put(path, {name: other})) == {name}
    assert admin.get(path).json() == before


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.change], ids=str)
def test_changing_an_immutable_resource_is_not_allowed(admin, kind):
    assert admin.put(f"{kind.path}/{make(admin, kind)[0]['id']}", {}).status_code == 405
