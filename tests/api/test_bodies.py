"""Malformed bodies at every resource that takes a body; for single fields see test_bad_input.py."""

import json

import pytest

from gatewall.kernel.request_bodies import BODY_WAITS
from tests.api.resources import CHANGEABLE, KINDS, fields_refused, make

pytestmark = pytest.mark.django_db
ALL_KINDS = pytest.mark.parametrize("kind", KINDS, ids=str)


def raw(kind, **changes):
    return json.dumps({**kind.body(0), **changes}).encode()


NO_JSON = [
    b"{",
    b"",
    b"{'a': 1}",
    b'{"a": 1,}',
    b"\xff\xfe{}",
    b"\xef\xbb\xbf{}",
    b'{"a": NaN}',
    b'{"a": Infinity}',
    b"[" * 9000,
]


@ALL_KINDS
def test_a_body_that_is_no_json_object_is_refused(admin, kind):
    for body in NO_JSON:
        assert admin.send("POST", kind.path, body).status_code == 400, body[:12]
    for body in ([], [{}], "text", 1, 1.5, True, None):
        assert admin.send("POST", kind.path, json.dumps(body).encode()).status_code == 400, body


@ALL_KINDS
def test_unknown_duplicate_and_missing_fields_are_refused(admin, kind):
    body = raw(kind)
    name = next(iter(kind.body(0)))
    doubled = body[:-1] + f', "{name}": "other"}}'.encode()

    assert fields_refused(admin.post(kind.path, {**kind.body(0), "colour": "red"})) == {"colour"}
    assert admin.send("POST", kind.path, doubled).status_code == 400
    assert fields_refused(admin.post(kind.path, {})) >= {name}


@ALL_KINDS
def test_another_media_type_is_refused(admin, kind):
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "application/xml", ""):
        assert admin.send("POST", kind.path, raw(kind), media_type).status_code == 415, media_type
    files = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'
    assert admin.send("POST", kind.path, files, "multipart/form-data; boundary=x").status_code == 415


@ALL_KINDS
def test_json_with_a_charset_is_json(admin, kind):
    assert admin.send("POST", kind.path, raw(kind), "application/json; charset=utf-8").status_code == 201


@ALL_KINDS
def test_a_body_is_read_up_to_one_mebibyte(admin, kind):
    assert admin.send("POST", kind.path, raw(kind, filler="x" * (1 << 20))).status_code == 413
    body = raw(kind)
    assert admin.send("POST", kind.path, body + b" " * ((1 << 20) - len(body))).status_code == 201


MOMENTS = ("/ip-black-list", "/ip-white-list", "/licenses")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.path in MOMENTS], ids=str)
def test_a_time_is_shown_in_utc(admin, kind):
    body = admin.post(kind.path, {**kind.body(0), "expires_at": "2030-01-01T02:00:00+02:00"}).json()

    assert body["expires_at"] == "2030-01-01T00:00:00Z"


@pytest.mark.parametrize("kind", CHANGEABLE, ids=str)
def test_a_change_refuses_the_bodies_that_a_create_refuses(admin, kind):
    path = f"{kind.path}/{make(admin, kind)[0]['id']}"
    answers = [
        admin.put(path, {"colour": "red"}),
        admin.put(path, []),
        admin.send("PUT", path, b"{"),
        admin.send("PUT", path, b"{}", "text/plain"),
        admin.send("PUT", path, b'{"remark": "' + b"x" * (1 << 20) + b'"}'),
    ]

    assert [answer.status_code for answer in answers] == [400, 400, 400, 415, 413]


def test_a_request_without_a_body_lacks_its_fields(admin):
    assert fields_refused(admin.post("/ip-black-list")) == {"ip"}


BOUNDARY = "multipart/form-data; boundary=x"


@pytest.mark.parametrize("verb", ["POST", "PUT", "GET", "DELETE"])
@pytest.mark.parametrize("path", ["/", "/sign-out", "/login", "/users", "/users/1", "/admin/login/", "/nowhere"])
@pytest.mark.parametrize("media_type", [BOUNDARY, "application/x-www-form-urlencoded", "text/plain"])
def test_a_too_large_body_is_refused_everywhere(anonymous, verb, path, media_type):
    assert anonymous.send(verb, path, b"x" * ((1 << 20) + 1), media_type).status_code == 413


@pytest.mark.parametrize("length", ["1048577", "9" * 40, "-1", "1e9", "\u0661"])
def test_a_too_large_or_invalid_content_length_is_refused(anonymous, length):
    assert anonymous.send("POST", "/login", b"{}", CONTENT_LENGTH=length).status_code == 413


@pytest.mark.parametrize("path", ["/", "/login", "/users"])
def test_a_chunked_body_is_refused_and_not_read_as_empty(anonymous, path):
    response = anonymous.send("POST", path, b"", HTTP_TRANSFER_ENCODING="chunked")

    assert (response.status_code, response.json()["code"]) == (411, "length-required")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.path in MOMENTS], ids=str)
def test_the_year_1000_is_shown_with_four_digits(admin, kind):
    first = "1000-01-01T00:00:00Z"

    assert admin.post(kind.path, {**kind.body(0), "expires_at": first}).json()["expires_at"] == first


def test_an_upload_counts_once_towards_the_rate_limit(admin, user, anonymous, monkeypatch):
    calls = []
    monkeypatch.setattr("gatewall.api.views.count_call", lambda *_arguments, **_reach: calls.append(1))
    data = b'{"document": "version: 1\\n' + b"#" * (1 << 20) + b'"}'

    def compare(caller, *, waits):
        sent = b"" if waits else data
        own = {"CONTENT_LENGTH": str(len(data)), BODY_WAITS: waits}
        calls.clear()
        return caller.send("POST", "/policy/document/compare", sent, **own).status_code, len(calls)

    heads = [compare(caller, waits=True) for caller in (admin, user, anonymous)]

    assert heads == [(100, 1), (403, 1), (401, 1)]
    assert compare(admin, waits=False) == (200, 0)
