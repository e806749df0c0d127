"""Properties of every list: envelope, pages, order, search, and refusal of unknown parameters."""

import pytest

from gatewall.api import pagination
from tests.api.resources import KINDS, fields_refused, make

pytestmark = [pytest.mark.django_db, pytest.mark.parametrize("kind", KINDS, ids=str)]


def test_a_list_is_returned_in_pages_or_as_a_whole(admin, kind):
    made = make(admin, kind, 5)
    body = admin.get(kind.path).json()

    assert set(body) == {"count", "next", "previous", "results"}
    assert body["count"] == len(body["results"])
    assert {row["id"] for row in made} <= {row["id"] for row in body["results"]}
    assert in_pages(admin, kind) == [row["id"] for row in body["results"]]

    whole = admin.get(kind.path, {"all": "true", "page_size": "1"}).json()
    assert (whole["next"], whole["previous"]) == (None, None)
    assert whole == body


def in_pages(admin, kind):
    """Return the ids of the rows in pages of two, by the links of the pages."""
    body, seen = admin.get(kind.path, {"page_size": 2}).json(), []
    while True:
        seen += [row["id"] for row in body["results"]]
        assert len(body["results"]) <= 2
        if body["next"] is None:
            break
        body = admin.get(body["next"].partition("/wall")[2]).json()
    assert body["previous"]
    return seen


def test_an_unpaged_list_is_read_and_written_in_batches(admin, kind, monkeypatch):
    monkeypatch.setattr(pagination, "MAX_PAGE_SIZE", 2)
    monkeypatch.setattr(pagination, "PAGE_SIZE", 2)
    make(admin, kind, 5)

    body = admin.get(kind.path, {"all": "true"}).json()

    assert body["results"] == admin.get(kind.path, {"page_size": "2"}).json()["results"] + body["results"][2:]
    assert len(body["results"]) == body["count"] >= 5


EMPTY = {"count": 0, "next": None, "previous": None, "results": []}


def test_pages_of_a_short_list_and_of_an_empty_one(admin, kind):
    assert admin.get(kind.path, {"page_size": "500"}).status_code == 200
    assert admin.get(kind.path, {"page": "2"}).status_code == 404
    assert admin.get(kind.path, {"search": "nothing at all has this text"}).json() == EMPTY
    assert admin.get(kind.path, {"all": "true", "created_by": "nobody"}).json() == EMPTY


def test_head_is_get_without_a_body(admin, kind):
    for query in ("", "?all=true", "?page=1"):
        response = admin.send("HEAD", kind.path + query)

        assert (response.status_code, b"".join(response)) == (200, b""), query


BAD_PARAMETERS = [
    ("page_size", "0"),
    ("page_size", "501"),
    ("page_size", "-1"),
    ("page_size", "ten"),
    ("page_size", "1e2"),
    ("page_size", "١"),  # noqa: RUF001 - a digit to Python
    ("page", "0"),
    ("page", "last"),
    ("page", "9" * 40),
    ("all", "yes"),
    ("all", "True"),
    ("ordering", "password"),
    ("ordering", "id,created_at"),
    ("ordering", "--id"),
    ("ordering", ""),
    ("limit", "10"),
    ("Page", "1"),
    ("\ud7ff'; --", "1"),
]


def test_an_invalid_parameter_is_refused_by_name(admin, kind):
    for name, value in BAD_PARAMETERS:
        assert fields_refused(admin.get(kind.path, {name: value})) == {name}, value


def test_a_list_is_ordered_by_each_field_it_names_and_searched_in_any_case(admin, kind):
    made = make(admin, kind, 3)

    assert "id" in kind.orderings
    for field in kind.orderings:
        there = admin.get(kind.path, {"ordering": field}).json()["results"]
        back = admin.get(kind.path, {"ordering": f"-{field}"}).json()["results"]
        assert there == back[::-1]
        values = [row[field] for row in there if row[field] is not None]
        if field not in {"ip", "severity"}:
            assert values == sorted(values, key=lambda value: value.lower() if isinstance(value, str) else value)

    body = admin.get(kind.path, {"search": "TEXT1."}).json()
    assert [row["id"] for row in body["results"]] == [made[1]["id"]]


def test_search_treats_every_character_literally(admin, kind):
    make(admin, kind, 1)
    texts = ["%", "_", "\\", "'", '"; --', "é", "[a-z]"]

    assert {text: admin.get(kind.path, {"search": text}).status_code for text in texts} == dict.fromkeys(texts, 200)


def test_the_number_of_statements_does_not_grow_with_the_rows(admin, kind, django_assert_num_queries):
    make(admin, kind, 5)

    with django_assert_num_queries(kind.queries):
        admin.get(kind.path)
