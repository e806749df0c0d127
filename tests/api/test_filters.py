"""Filters of lists: each finds the matching rows, and a malformed one is refused by name."""

from datetime import datetime, timedelta

import pytest

from tests.api.resources import KINDS, fields_refused, make
from tests.support.proxies import Api, a_token, a_user

pytestmark = pytest.mark.django_db
ALL_KINDS = pytest.mark.parametrize("kind", KINDS, ids=str)
MOMENTS = {"/ip-black-list": "expires_at", "/ip-white-list": "expires_at", "/licenses": "expires_at"}


def found(admin, path, **parameters):
    response = admin.get(path, parameters)
    assert response.status_code == 200, response.content
    return [row["id"] for row in response.json()["results"]]


@ALL_KINDS
def test_rows_are_filtered_by_creator(admin, kind):
    other = Api(a_token(a_user("dora", is_admin=True)))
    mine = [row["id"] for row in make(admin, kind, 2)]
    theirs = other.post(kind.path, kind.body(3)).json()["id"]

    assert found(admin, kind.path, created_by="dora") == [theirs]
    assert set(mine) <= set(found(admin, kind.path, created_by="alice"))
    assert theirs not in found(admin, kind.path, created_by="")


@ALL_KINDS
def test_rows_are_found_by_when_they_were_made(admin, kind):
    row = make(admin, kind)[0]
    made = datetime.fromisoformat(row["created_at"])
    first, next_ = (f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in (made, made + timedelta(seconds=1)))

    assert row["id"] in found(admin, kind.path, created_at_after=first, created_at_before=next_)
    assert row["id"] not in found(admin, kind.path, created_at_after=next_)
    assert row["id"] not in found(admin, kind.path, created_at_before=first)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.path in MOMENTS], ids=str)
def test_rows_are_found_by_when_they_expire(admin, kind):
    make(admin, kind)
    id_ = admin.post(kind.path, {**kind.body(1), "expires_at": "2090-01-01T00:00:00Z"}).json()["id"]

    assert found(admin, kind.path, expires_at_after="2090-01-01T00:00:00Z") == [id_]
    assert found(admin, kind.path, expires_at_before="2090-01-01T00:00:00Z") == []
    assert found(admin, kind.path, expires_at_before="2090-01-01T01:00:00+00:59") == [id_]


ROWS = {
    "/users": [
        {"username": "Person.One", "password": "correct horse", "is_admin": True, "email": "One@office.example"},
        {"username": "other", "password": "correct horse", "all_domains": False, "authorized_domains": [], "email": ""},
        {
            "username": "third",
            "password": "correct horse",
            "is_active": False,
            "authorized_domains": ["office.example"],
        },
    ],
    "/ip-white-list": [
        {"ip": "203.0.113.1", "inspect": True},
        {"ip": "203.0.113.2", "domain": "office.example"},
    ],
    "/waf-rules": [
        {"name": "one", "pattern": "a", "severity": "low", "score": 3, "action": "monitor", "priority": 7},
        {"name": "two", "pattern": "b", "operator": "contains", "enabled": False, "category": "ssrf", "score": 9},
        {"name": "three", "pattern": "c", "domain": "office.example", "path_prefix": "/a", "severity": "critical"},
    ],
    "/authorized-domains": [
        {"name": "a.example", "access": "public", "waf_monitor_until": "2001-01-01T00:00:00Z"},
        {"name": "*.b.example", "access": "denied"},
    ],
    "/geo-block-rules": [{"country_code": "NZ"}, {"country_code": "FR"}],
    "/licenses": [
        {"name": "one", "is_active": False},
        {"name": "two", "all_domains": False, "authorized_domains": ["office.example"]},
    ],
}
FINDS = [
    ("/users", {"username": "person.ONE"}, [0]),
    ("/users", {"email": "one@OFFICE.example"}, [0]),
    ("/users", {"is_admin": "true"}, [0]),
    ("/users", {"is_active": "false"}, [2]),
    ("/users", {"all_domains": "false"}, [1]),
    ("/users", {"totp_enabled": "true"}, []),
    ("/users", {"authorized_domain": "OFFICE.example"}, [2]),
    ("/users", {"last_login_at_after": "2090-01-01T00:00:00Z"}, []),
    ("/users", {"is_admin": "false", "is_active": "true"}, [1]),
    ("/ip-white-list", {"inspect": "true"}, [0]),
    ("/ip-white-list", {"domain": "office.example"}, [1]),
    ("/ip-white-list", {"domain": "null"}, [0]),
    ("/ip-white-list", {"domain": "unknown.example"}, []),
    ("/waf-rules", {"name": "two"}, [1]),
    ("/waf-rules", {"operator": "contains"}, [1]),
    ("/waf-rules", {"category": "ssrf"}, [1]),
    ("/waf-rules", {"severity": "low"}, [0]),
    ("/waf-rules", {"score": "9"}, [1]),
    ("/waf-rules", {"action": "monitor"}, [0]),
    ("/waf-rules", {"priority": "7"}, [0]),
    ("/waf-rules", {"enabled": "false"}, [1]),
    ("/waf-rules", {"builtin": "true"}, []),
    ("/waf-rules", {"builtin": "false", "ordering": "severity"}, [0, 1, 2]),
    ("/waf-rules", {"domain": "office.example"}, [2]),
    ("/waf-rules", {"path_prefix": "/a"}, [2]),
    ("/authorized-domains", {"name": "A.example"}, [0]),
    ("/authorized-domains", {"access": "denied"}, [1]),
    ("/authorized-domains", {"waf_monitor_until_after": "2000-01-01T00:00:00Z"}, [0]),
    ("/authorized-domains", {"waf_monitor_until_before": "2000-01-01T00:00:00Z"}, []),
    ("/geo-block-rules", {"country_code": "nz"}, [0]),
    ("/licenses", {"name": "two"}, [1]),
    ("/licenses", {"is_active": "false"}, [0]),
    ("/licenses", {"all_domains": "true"}, [0]),
    ("/licenses", {"authorized_domain": "office.example"}, [1]),
    ("/licenses", {"prefix": "gwl_"}, []),
]


@pytest.mark.parametrize("path", ROWS)
def test_a_filter_finds_matching_rows(admin, alice, office, path):
    ids = [admin.post(path, body).json()["id"] for body in ROWS[path]]

    for parameters, expected in [(parameters, expected) for of, parameters, expected in FINDS if of == path]:
        rows = [id_ for id_ in found(admin, path, **parameters) if id_ not in {alice.pk, office.pk} or path != "/users"]
        assert [id_ for id_ in rows if id_ in ids] == [ids[n] for n in expected], parameters
        assert len(rows) == len(expected) or "access" in parameters or path == "/users", parameters


MALFORMED = [
    *[
        (kind.path, name, value)
        for kind in KINDS
        for name in ("created_at_after", "created_at_before")
        for value in (
            "",
            "yesterday",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-02-30T00:00:00Z",
            "0001-01-01T00:00:00Z",
        )
    ],
    *[(kind.path, "created_by", "x" * 65) for kind in KINDS],
    *[(kind.path, "search", "x" * 201) for kind in KINDS],
    *[
        ("/users", name, value)
        for name in ("is_admin", "is_active", "all_domains")
        for value in ("", "yes", "1", "True")
    ],
    ("/users", "authorized_domain", "a b"),
    *[
        (path, "ip", value)
        for path in ("/ip-black-list", "/ip-white-list")
        for value in ("", "10.0.0.1/8", "10.0.0", "010.0.0.1", "::1%eth0", "10.0.0.0/33", "x" * 65, "localhost")
    ],
    ("/ip-white-list", "domain", "a b"),
    ("/ip-white-list", "domain", ""),
    ("/ip-black-list", "source", "x" * 65),
    ("/waf-rules", "severity", "LOW"),
    ("/waf-rules", "category", ""),
    *[
        ("/waf-rules", name, value)
        for name in ("score", "priority")
        for value in ("-1", "", "1.0", "1e1", str(2**63), "9" * 300, "\u0661")
    ],
    ("/waf-rules", "score", "11"),
    ("/authorized-domains", "name", "a b"),
    ("/authorized-domains", "access", "open"),
    ("/geo-block-rules", "country_code", "XX"),
    ("/geo-block-rules", "country_code", ""),
    ("/ip-black-list", "page", str(2**63)),
    ("/ip-black-list", "page_size", str(2**63)),
]


@pytest.mark.parametrize("path", sorted({path for path, _, _ in MALFORMED}))
def test_a_malformed_filter_is_refused_by_its_name(admin, path):
    for name, value in [(name, value) for of, name, value in MALFORMED if of == path]:
        assert fields_refused(admin.get(path, {name: value})) == {name}, value


MEANINGLESS = [
    ("page=1&page=1", "page"),
    ("created_by=a&created%5Fby=b", "created_by"),
    ("search=%00", "search"),
    ("search=a%00b", "search"),
    ("search=%ED%A0%80", "search"),
    ("search=%FF", "search"),
    ("created_by=%C3", "created_by"),
    ("%00=1", ""),
    ("%FF=1", ""),
    ("created_by__startswith=a", "created_by__startswith"),
    ("format=json", "format"),
    ("username__password=a", "username__password"),
]


@ALL_KINDS
def test_meaningless_or_ambiguous_queries_are_refused(admin, kind):
    for query, name in MEANINGLESS:
        assert fields_refused(admin.send("GET", f"{kind.path}?{query}")) == {name}, query


@pytest.mark.parametrize("path", ["/session", "/health", "/system/settings", "/schema"])
def test_invalid_queries_are_refused_outside_lists_too(admin, path):
    assert fields_refused(admin.send("GET", f"{path}?a=%FF")) == {"a"}
    assert fields_refused(admin.send("GET", f"{path}?a=1&a=2")) == {"a"}


def test_too_many_parameters_are_refused(admin):
    query = "&".join(f"p{number}=1" for number in range(1200))

    assert admin.send("GET", f"/users?{query}").status_code == 400


ENTRIES = [
    "10.0.0.0/8",
    "10.1.0.0/16",
    "10.1.2.3",
    "10.1.2.0/30",
    "10.10.0.0/16",
    "101.0.0.1",
    "192.0.2.7",
    "0.0.0.0/1",
]
ENTRIES6 = ["2001:db8::/32", "2001:db8::1", "2001:db8:1::/48", "2001:db8:0:1::/64", "2001:db8:10::1", "2001:db80::1",
            "2001::1", "fe80::1", "::1"]  # fmt: skip
OVERLAPS = {
    "10.1.2.3": {"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "10.1.2.0/30", "0.0.0.0/1"},
    "10.1.2.4": {"10.0.0.0/8", "10.1.0.0/16", "0.0.0.0/1"},
    "::ffff:192.0.2.7": {"192.0.2.7"},
    "10.1.0.0/16": {"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "10.1.2.0/30", "0.0.0.0/1"},
    "10.0.0.0/9": {"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "10.1.2.0/30", "10.10.0.0/16", "0.0.0.0/1"},
    "10.1.2.0/29": {"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "10.1.2.0/30", "0.0.0.0/1"},
    "10.1.2.2/31": {"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "10.1.2.0/30", "0.0.0.0/1"},
    "10.8.0.0/13": {"10.0.0.0/8", "10.10.0.0/16", "0.0.0.0/1"},
    "0.0.0.0/0": set(ENTRIES),
    "128.0.0.0/1": {"192.0.2.7"},
    "2001:db8::1": {"2001:db8::/32", "2001:db8::1"},
    "2001:db8::/32": {"2001:db8::/32", "2001:db8::1", "2001:db8:1::/48", "2001:db8:0:1::/64", "2001:db8:10::1"},
    "2001:db8::/48": {"2001:db8::/32", "2001:db8::1", "2001:db8:0:1::/64"},
    "2001:db8::/44": {"2001:db8::/32", "2001:db8::1", "2001:db8:1::/48", "2001:db8:0:1::/64"},
    "::/0": set(ENTRIES6),
    "::/64": {"::1"},
    "203.0.113.9": set(),
}


@pytest.mark.parametrize("path", ["/ip-black-list", "/ip-white-list"])
def test_entries_are_filtered_by_overlap_with_a_network(admin, path):
    for entry in ENTRIES + ENTRIES6:
        force = {"force": True} if path == "/ip-black-list" else {}
        assert admin.post(path, {"ip": entry, **force}).status_code == 201

    for network, expected in OVERLAPS.items():
        rows = admin.get(path, {"ip": network}).json()["results"]
        assert {row["ip"] for row in rows} == expected, network


def test_an_ipv6_network_with_too_many_entries_must_be_a_smaller_one(admin, monkeypatch):
    monkeypatch.setattr("policies.filters._MAX_FOUND", 2)
    for number in range(3):
        admin.post("/ip-black-list", {"ip": f"2001:db8::{number}"})

    assert fields_refused(admin.get("/ip-black-list", {"ip": "2001:db8::/64"})) == {"ip"}
    assert found(admin, "/ip-black-list", ip="2001:db8::1")


def test_git_tokens_are_filtered_too(admin, alice):
    path = f"/users/{alice.pk}/git-tokens"
    ids = [admin.post(path, {"name": name}).json()["id"] for name in ("one", "two")]

    assert found(admin, path, name="two") == [ids[1]]
    assert fields_refused(admin.get(path, {"owner": "bob"})) == {"owner"}


def test_sessions_are_a_list_like_any_other(admin, alice, bob):
    path = f"/users/{bob.pk}/sessions"
    a_token(bob)
    a_token(bob)

    every = admin.get(path, {"ordering": "-issued_at"}).json()
    assert every["count"] == len(admin.get(path, {"all": "true"}).json()["results"]) == 2
    assert admin.get(path, {"client_ip": every["results"][0]["client_ip"]}).json()["count"] == 2
    assert admin.get(path, {"client_ip": "203.0.113.99"}).json()["count"] == 0
    assert admin.get(path, {"issued_at_after": "2090-01-01T00:00:00Z"}).json()["count"] == 0
    for name, value in (("client_ip", "10.0.0.0/8"), ("created_by", "bob"), ("ordering", "jti"), ("search", "a")):
        assert fields_refused(admin.get(path, {name: value})) == {name}
    one = admin.get(f"{path}/{every['results'][0]['jti']}")
    assert admin.get(f"{path}/{one.json()['jti']}", headers={"If-None-Match": one.headers["ETag"]}).status_code == 304
