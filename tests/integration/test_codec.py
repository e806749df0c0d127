"""A policy as bytes: back as it was, or refused. Never anything in between that raises."""

import json

import pytest

from gatewall.engine.snapshot import PolicySource, Version
from gatewall.engine.waf.rules import Exclusion, Target, Transform
from gatewall.snapshot import codec
from tests.cast import a_blocked, a_rule, a_source, an_allowed

FULL = a_source(
    version=Version(7, 3),
    blocked=["203.0.113.0/24", a_blocked("2001:db8::/32", id=2, by_hand=False, expires_at=1.5)],
    allowed=["198.51.100.7", an_allowed("10.0.0.0/8", id=2, domain="office.example", inspect=True, expires_at=2.0)],
    domains={"office.example": "two_factor", "*.files.example": "public"},
    countries=["NZ"],
    rules=[
        a_rule(
            "attäck",
            targets=(Target.ARGS, Target.COOKIES),
            transforms=(Transform.LOWERCASE,),
            domain="office.example",
            path_prefix="/a",
            exclusions=(Exclusion("office.example", None, "q"),),
        )
    ],
    revoked=["a", "b"],
    authorized_domains_mode="registered",
    waf_mode="monitor",
    waf_threshold=9,
    geo_mode="off",
    unknown_country="block",
    request_rate_per_minute=60,
)
SMALL = a_source(blocked=["203.0.113.7"], users=(), git_tokens=(), licenses=(), rules=[a_rule("a")])
BYTES = codec.encode(SMALL)


def decoded(data):
    """Return the source, or None where it is refused; any other exception fails the test."""
    try:
        return codec.decode(data)
    except codec.DecodeError:
        return None


@pytest.mark.parametrize("source", [FULL, SMALL, PolicySource(Version(0))], ids=["full", "small", "empty"])
def test_a_policy_comes_back_as_it_was(source):
    assert codec.decode(codec.encode(source)) == source


def test_the_same_policy_has_the_same_bytes():
    assert codec.encode(FULL) == codec.encode(codec.decode(codec.encode(FULL)))


def test_every_truncation_is_refused():
    assert [length for length in range(len(BYTES)) if decoded(BYTES[:length]) is not None] == []


def test_every_flipped_bit_is_refused_or_gives_a_policy_that_is_one():
    for at in range(len(BYTES)):
        for bit in range(8):
            broken = bytearray(BYTES)
            broken[at] ^= 1 << bit
            source = decoded(bytes(broken))
            assert source is None or codec.decode(codec.encode(source)) == source


def test_every_missing_byte_is_refused_or_gives_a_policy_that_is_one():
    for at in range(len(BYTES)):
        source = decoded(BYTES[:at] + BYTES[at + 1 :])
        assert source is None or codec.decode(codec.encode(source)) == source


@pytest.mark.parametrize("junk", [None, True, 1, -1, 1.5, "x", [], {}, [[]], [None], {"a": 1}, 10**400], ids=repr)
def test_every_part_of_another_type_is_refused_or_gives_a_policy_that_is_one(junk):
    document = json.loads(codec.encode(FULL))
    for path in paths(document):
        source = decoded(json.dumps(replaced(document, path, junk)).encode())
        assert source is None or codec.decode(codec.encode(source)) == source, path


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_an_end_that_is_no_number_is_refused(word):
    data = codec.encode(a_source(blocked=[a_blocked("203.0.113.7", expires_at=12345.5)])).replace(
        b"12345.5", word.encode()
    )

    assert decoded(data) is None


@pytest.mark.parametrize(
    "data", [b"", b"null", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"schema": 1}', b'{"schema": 2}']
)
def test_what_is_no_policy_is_refused(data):
    with pytest.raises(codec.DecodeError):
        codec.decode(data)


def test_another_schema_is_refused_by_its_number():
    with pytest.raises(codec.DecodeError, match="schema 2"):
        codec.decode(BYTES.replace(b'"schema":1', b'"schema":2'))


def paths(value, at=()):
    """Yield the path of every part of a document."""
    yield at
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from paths(part, (*at, key))


def replaced(value, path, junk):
    """Return a copy of the document with the junk in the place of one part."""
    if not path:
        return junk
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], junk)
    return copy
