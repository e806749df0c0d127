"""Invalid input of ``POST /policy/explain``."""

import pytest

from tests.support.cast import CLIENT, OFFICE

pytestmark = pytest.mark.django_db
VISIT = {"client_ip": CLIENT, "host": OFFICE, "method": "GET", "uri": "/"}


NOT_VALID = [
    {"client_ip": None},
    {"client_ip": 5},
    {"host": ["a"]},
    {"method": True},
    {"uri": {}},
    {"uri": "/" + "a" * 8192},
    {"client_ip": "1" * 4097},
    {"scheme": 1},
    {"colour": "red"},
    {"headers": []},
    {"headers": {"a": 1}},
    {"headers": {"a b": "c"}},
    {"headers": {"": "c"}},
    {"headers": {"a": "b\r\nc: d"}},
    {"headers": {"a": "b\0"}},
    {"headers": {"X-Forwarded-For": "1.2.3.4"}},
    {"headers": {"HOST": "a"}},
    {"headers": {f"a{number}": "b" for number in range(101)}},
    {"headers": {"a": ["b"] * 101}},
    {"headers": {"a": "b" * 8193}},
    {"headers": {"a": ["b" * 8000] * 5}},
    {"credential": "token"},
    {"credential": {}},
    {"credential": {"kind": "password"}},
    {"credential": {"kind": "session"}},
    {"credential": {"kind": "session", "id": 1}},
    {"credential": {"kind": "session", "token": "a\nb"}},
    {"credential": {"kind": "user", "token": "a"}},
    {"credential": {"kind": "user", "id": 1, "name": "bob"}},
    {"credential": {"kind": "user", "id": "1"}},
    {"credential": {"kind": "user", "id": 2**63}},
    {"credential": {"kind": "user", "id": 999_999}},
    {"credential": {"kind": "user", "name": "nobody"}},
    {"credential": {"kind": "user", "name": "alice", "amr": "otp"}},
    {"credential": {"kind": "user", "name": "alice", "amr": ["passkey"]}},
    {"credential": {"kind": "license", "name": "nothing"}},
    {"credential": {"kind": "license", "token": "gwl_a", "amr": ["pwd"]}},
    {"credential": {"kind": "license", "token": "gwl_a", "id": 1}},
]


@pytest.mark.parametrize("parts", NOT_VALID, ids=lambda parts: str(parts)[:60])
def test_an_invalid_made_up_request_is_refused(admin, parts):
    body = {name: value for name, value in (VISIT | parts).items() if value is not None}

    assert admin.post("/policy/explain", body).status_code == 400


@pytest.mark.parametrize("body", [b"", b"[]", b"5", b'{"host": "a", "host": "b"}'])
def test_a_body_that_is_not_an_object_is_refused(admin, body):
    assert admin.send("POST", "/policy/explain", body).status_code == 400


def test_the_longest_request_is_explained(admin):
    headers = {f"a{number}": "b" * 300 for number in range(100)}

    response = admin.post("/policy/explain", VISIT | {"uri": "/" + "a" * 8191, "headers": headers})

    assert response.json()["decision"]["reason"] == "credential-missing"


def test_only_admins_get_an_explanation(user, anonymous):
    assert user.post("/policy/explain", VISIT).status_code == 403
    assert anonymous.post("/policy/explain", VISIT).status_code == 401
