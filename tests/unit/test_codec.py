"""Segments as bytes: encoded rows are decoded unchanged, and all other bytes are refused."""

import json
import random
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from enum import Enum

import pytest

from gatewall.engine.access_rules.rules import AccessRule, PathMatch, PathPattern
from gatewall.engine.addresses import parse_network
from gatewall.engine.device_passes import DevicePass
from gatewall.engine.grants import Grant
from gatewall.engine.groups import GroupState
from gatewall.engine.hosts import Access, Domain
from gatewall.engine.segments import blocked_networks_of
from gatewall.engine.snapshot import BlockedCountry, Segment, ShareLinkState
from gatewall.engine.waf.exclusions import Exclusion
from gatewall.engine.waf.rules import Category, Operator, Target, Transform
from gatewall.snapshot import codec, keyed_rows
from tests.support.cast import (
    APP_TOKENS,
    DAY,
    GIT_TOKENS,
    LICENSES,
    NOW,
    OFFICE,
    USERS,
    a_blocked,
    a_rule,
    an_allowed,
    some_settings,
)
from tests.unit.row_types import has_its_types

RULE = a_rule(
    r"union\s+select",
    id=7,
    name="SQL \u00fc",
    operator=Operator.CONTAINS,
    targets=(Target.ARGS, Target.COOKIES),
    transforms=(Transform.LOWERCASE,),
    category=Category.SQLI,
    domain=OFFICE,
    path_prefix="/shop",
    exclusions=(Exclusion(OFFICE, "/cms"), Exclusion("q", expires_at=NOW), Exclusion(path_glob="/*", json_path="$.a")),
)
ACCESS_RULE = AccessRule(
    1,
    "Library \u00fc",
    Access.PHISHING_RESISTANT,
    domains=frozenset({OFFICE}),
    paths=(PathPattern(PathMatch.GLOB, "/caf\u00e9/**"), PathPattern(PathMatch.EXACT, "/a")),
    methods=frozenset({"GET"}),
    networks=(parse_network("198.51.100.0/24"),),
    countries=frozenset({"DE"}),
    asns=frozenset({64500}),
    weekdays=frozenset({1, 7}),
    start_minute=0,
    end_minute=1439,
    time_zone="Europe/Berlin",
    groups=frozenset({3}),
    users=frozenset({4}),
    credential_kinds=frozenset({"session"}),
    rate_per_minute=60,
    app_token_header="x-emby-token",
    expires_at=NOW,
)
ROWS = {
    Segment.SETTINGS: (
        some_settings(authorized_domains_mode="registered", waf_mode="monitor", waf_threshold=9),
        some_settings(stale_policy="strict", stale_policy_seconds=300),
    ),
    Segment.DOMAINS: (Domain(1, OFFICE, Access.TWO_FACTOR), Domain(2, "*.shop.example", Access.PUBLIC, NOW)),
    Segment.ALLOWED_NETWORKS: (
        an_allowed("198.51.100.0/24", domain=OFFICE, inspect=True, expires_at=NOW + DAY),
        an_allowed("2001:db8::/32", id=2),
    ),
    Segment.BLOCKED_COUNTRIES: (BlockedCountry(1, "NZ"), BlockedCountry(2, "DE")),
    Segment.WAF_RULES: (RULE, a_rule("attack")),
    Segment.GROUPS: (GroupState(1, "family", False, frozenset({OFFICE})), GroupState(2, "staff", True, frozenset())),
    Segment.USERS: (*USERS, replace(USERS[0], id=9, groups=frozenset({1, 2}))),
    Segment.ACCESS_RULES: (ACCESS_RULE, AccessRule(2, "rest", Access.PUBLIC)),
    Segment.GRANTS: (
        Grant(1, 3, None, OFFICE, "/photos", frozenset({"GET", "HEAD"}), NOW + DAY),
        Grant(2, None, 4, "*.shop.example", None, frozenset(), NOW),
    ),
    Segment.SHARE_LINKS: (
        ShareLinkState(1, "ab" * 32, OFFICE, "/photos", frozenset({"GET", "HEAD"}), NOW + DAY),
        ShareLinkState(2, "cd" * 32, OFFICE, None, frozenset(), NOW),
    ),
    Segment.DEVICE_PASSES: (
        DevicePass(1, 3, OFFICE, "203.0.113.7", "Jellyfin", NOW + DAY),
        DevicePass(2, 4, OFFICE, "2001:db8::1", "Kodi", NOW),
    ),
    Segment.GIT_TOKENS: GIT_TOKENS,
    Segment.APP_TOKENS: APP_TOKENS,
    Segment.LICENSES: LICENSES,
    Segment.REVOCATIONS: ("session-1", "session-2"),
    blocked_networks_of("manual"): (
        a_blocked("203.0.113.9", id=1, by_hand=False, expires_at=NOW),
        a_blocked("10.0.0.0/8", id=2),
        a_blocked("2001:db8::/32", id=3),
    ),
}
EACH = pytest.mark.parametrize("segment", ROWS, ids=str)


def rows_of(segment, data):
    """Return the rows of these bytes, by id if they come from a table."""
    found = codec.decode(segment, data)
    if isinstance(found, tuple):
        return found
    if isinstance(found, Mapping):  # no look-up finds a row under a number that is not its own
        found = [row for row in map(found.get, found) if row is not None]
    return tuple(sorted(found, key=lambda row: row.id))


def decoded_or_refused(segment, data):
    """Return the rows of these bytes, or no rows if they are refused. Any other exception fails the test."""
    try:
        return rows_of(segment, data)
    except codec.DecodeError:
        return ()


@EACH
def test_rows_are_read_back_unchanged(segment):
    assert rows_of(segment, codec.encode(segment, ROWS[segment])) == ROWS[segment]


@EACH
def test_a_segment_may_be_empty(segment):
    assert rows_of(segment, codec.encode(segment, ())) == ()


def test_every_segment_has_an_example():
    assert set(Segment) < set(ROWS)


@EACH
def test_a_truncated_segment_is_refused_wherever_it_ends(segment):
    data = codec.encode(segment, ROWS[segment])

    taken = [length for length in range(len(data)) if decoded_or_refused(segment, data[:length])]

    assert taken == []


@pytest.mark.no_cover
@EACH
def test_a_flipped_bit_gives_values_of_the_right_types_or_a_refusal(segment):
    data, numbers = codec.encode(segment, ROWS[segment]), random.Random(7)  # noqa: S311 - examples, no secrets

    for _ in range(600):
        flipped = bytearray(data)
        flipped[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
        for row in decoded_or_refused(segment, bytes(flipped)):
            assert type(row) is type(ROWS[segment][0]), flipped
            assert not is_dataclass(row) or isinstance(row, Enum) or has_its_types(row), flipped


@EACH
def test_rows_of_another_kind_are_refused(segment):
    kinds = {each: codec.encode(each, rows) for each, rows in ROWS.items() if each != segment}

    taken = {each: decoded_or_refused(segment, data) for each, data in kinds.items()}

    # A rule about a country and one about a domain are alike in part; the type decides.
    assert all(type(row) is type(ROWS[segment][0]) for rows in taken.values() for row in rows)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"gatewall segment 0\n",
        b"gatewall segment 1\n",
        b"GATEWALL SEGMENT 3\n",
        b"gatewall segment 3\r\n",
        b"\x80\x04",
    ],
)
def test_another_schema_is_refused(head):
    rows = codec.encode(Segment.REVOCATIONS, ["a"]).partition(b"\n")[2]

    with pytest.raises(codec.DecodeError, match="schema"):
        codec.decode(Segment.REVOCATIONS, head + rows)


def test_an_oversize_segment_is_refused(monkeypatch):
    data = codec.encode(Segment.REVOCATIONS, ["a"])
    monkeypatch.setattr(codec, "MAX_SEGMENT_BYTES", len(data) - 1)

    with pytest.raises(codec.DecodeError, match="more than"):
        codec.decode(Segment.REVOCATIONS, data)


def test_a_segment_of_the_largest_size_is_read(monkeypatch):
    data = codec.encode(Segment.REVOCATIONS, ["a"])
    monkeypatch.setattr(codec, "MAX_SEGMENT_BYTES", len(data))

    assert codec.decode(Segment.REVOCATIONS, data) == ("a",)


@pytest.mark.parametrize("segment", ["", "unknown", "blocked-network/manual", "Settings"])
def test_an_unknown_segment_is_refused(segment):
    with pytest.raises(codec.DecodeError):
        codec.decode(segment, codec.encode(Segment.REVOCATIONS, ["a"]))


def written(rows, segment=Segment.REVOCATIONS):
    """Return the bytes that ``encode`` would write for such rows."""
    if segment not in KEYED:
        return codec.encode(Segment.REVOCATIONS, ()).removesuffix(b"[]") + json.dumps(rows).encode()
    table = keyed_rows.pack((number, json.dumps(row).encode()) for number, row in enumerate(rows))
    return codec.encode(segment, ()).removesuffix(keyed_rows.pack(())) + table


KEYED = {Segment.USERS, Segment.GIT_TOKENS, Segment.APP_TOKENS, Segment.LICENSES}
USER = [1, "alice", "a@office.example", True, True, 3, True, []]
RULE_ROW = {
    "id": 1, "name": "n", "pattern": "p", "operator": "regex", "targets": ["uri"], "transforms": [],
    "category": "sqli", "score": 5, "action": "block", "domain": None, "path_prefix": None, "exclusions": [],
}  # fmt: skip
ACCESS_ROW = json.loads(codec.encode(Segment.ACCESS_RULES, [ACCESS_RULE]).partition(b"\n")[2])[0]


@pytest.mark.parametrize(
    ("segment", "rows"),
    [
        (Segment.ACCESS_RULES, [ACCESS_ROW | {"access": "open"}]),
        (Segment.ACCESS_RULES, [ACCESS_ROW | {"paths": [["regex", "/a"]]}]),
        (Segment.ACCESS_RULES, [ACCESS_ROW | {"paths": ["/a"]}]),
        (Segment.ACCESS_RULES, [ACCESS_ROW | {"groups": ["3"]}]),
        (Segment.ACCESS_RULES, [ACCESS_ROW | {"weekdays": [True]}]),
        (Segment.ACCESS_RULES, [ACCESS_ROW | {"networks": ["198.51.100.1/24"]}]),
        (Segment.ACCESS_RULES, [{name: value for name, value in ACCESS_ROW.items() if name != "users"}]),
        (Segment.REVOCATIONS, {"a": 1}),
        (Segment.REVOCATIONS, "a"),
        (Segment.REVOCATIONS, None),
        (Segment.REVOCATIONS, [1]),
        (Segment.DOMAINS, [[1, "a", "no-access", None]]),
        (Segment.DOMAINS, [[1, "a"]]),
        (Segment.DOMAINS, [[1, "a", [], None]]),
        (Segment.DOMAINS, [[True, "a", "public", "soon"]]),
        (Segment.ALLOWED_NETWORKS, [[1, "203.0.113.0/24", None, 1, None]]),
        (Segment.ALLOWED_NETWORKS, [[1, "203.0.113.1/24", None, True, None]]),
        (Segment.ALLOWED_NETWORKS, [[1, 7, None, True, None]]),
        (Segment.ALLOWED_NETWORKS, [[1, "203.0.113.0/24", None, True, "tomorrow"]]),
        (Segment.ALLOWED_NETWORKS, [[1, "203.0.113.0/24", None, True, True]]),
        (Segment.ALLOWED_NETWORKS, [[1, "203.0.113.0/24", None, True, 10**400]]),
        (Segment.USERS, [[*USER[:-1], "office.example"]]),
        (Segment.USERS, [[*USER[:-1], {"office.example": 1}]]),
        (Segment.USERS, [[*USER[:-1], [1]]]),
        (Segment.LICENSES, [[1, "digest", True, None, False, "office.example"]]),
        (Segment.WAF_RULES, [RULE_ROW | {"targets": ""}]),
        (Segment.WAF_RULES, [RULE_ROW | {"transforms": {}}]),
        (Segment.WAF_RULES, [RULE_ROW | {"exclusions": ""}]),
        (Segment.WAF_RULES, [RULE_ROW | {"exclusions": [[]]}]),
        (Segment.WAF_RULES, [RULE_ROW | {"exclusions": ["abc"]}]),
        (Segment.WAF_RULES, [RULE_ROW | {"exclusions": ["abcd"]}]),
        (Segment.WAF_RULES, [RULE_ROW | {"exclusions": [[None, "/a", None]]}]),
        (Segment.WAF_RULES, [RULE_ROW | {"exclusions": [[None, "/a", None, "soon"]]}]),
        (Segment.WAF_RULES, [RULE_ROW | {"exclusions": {}}]),
        (Segment.WAF_RULES, [RULE_ROW | {"score": 5.0}]),
        (Segment.SETTINGS, [{"waf_mode": "block"}]),
    ],
    ids=repr,
)
def test_a_row_that_encode_would_not_write_is_refused(segment, rows):
    with pytest.raises(codec.DecodeError):
        rows_of(segment, written(rows, segment))


@pytest.mark.parametrize("body", [b"[" * 100_000, b"[1e", b"[\xff]", b"[" + b"9" * 5000 + b"]", b"[] []", b""])
def test_invalid_json_is_refused(body):
    with pytest.raises(codec.DecodeError):
        codec.decode(Segment.REVOCATIONS, written([]).removesuffix(b"[]") + body)


def test_a_segment_is_plain_text_but_for_tables():
    tables = {*KEYED, blocked_networks_of("manual")}

    assert all(codec.encode(segment, rows).isascii() for segment, rows in ROWS.items() if segment not in tables)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_rows_that_come_one_after_another_are_the_same_bytes(number):
    rows = [BlockedCountry(each, "NZ") for each in range(number)]
    data = codec.encode(Segment.BLOCKED_COUNTRIES, iter(rows))
    body = json.dumps([[row.id, row.country_code] for row in rows], separators=(",", ":")).encode()
    assert data == codec.encode(Segment.BLOCKED_COUNTRIES, []).removesuffix(b"[]") + body
    assert codec.decode(Segment.BLOCKED_COUNTRIES, data) == tuple(rows)
