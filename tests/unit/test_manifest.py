"""The manifest: all of it is signed, and an older version is never accepted."""

import hashlib
import hmac
import json
from dataclasses import replace

import pytest

from gatewall.credentials.manifest_key import manifest_key
from gatewall.snapshot import manifest as manifests
from gatewall.snapshot.codec import MAX_SEGMENT_BYTES, SCHEMA
from gatewall.snapshot.manifest import ManifestRefused, OtherSchema, SegmentRef, decode, encode
from tests.unit.publications import DIGEST, EPOCH, KEY, OTHER_EPOCH, a_manifest

FULL = a_manifest(7, revocations=3, reloads=2, parent_epoch=OTHER_EPOCH)


def refused(data, key=KEY):
    try:
        decode(data, key)
    except ManifestRefused:
        return True
    return False


def signed(body, key=KEY):
    """Return these bytes with a valid signature, as only a Gatewall of another version could write them."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return hmac.digest(key, body, hashlib.sha256).hex().encode() + b"\n" + body


def fields(**changes):
    return json.loads(encode(FULL, KEY).partition(b"\n")[2]) | changes


def test_a_manifest_is_read_back_unchanged():
    assert decode(encode(FULL, KEY), KEY) == FULL


def test_every_flipped_byte_is_refused():
    data = encode(FULL, KEY)

    taken = [
        (at, bit)
        for at in range(len(data))
        for bit in range(8)
        if not refused(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
    ]

    assert taken == []


def test_a_truncated_manifest_is_refused_wherever_it_ends():
    data = encode(FULL, KEY)

    assert [length for length in range(len(data)) if not refused(data[:length])] == []


@pytest.mark.parametrize("more", [b"\n", b" ", b"{}", b"\0"])
def test_a_manifest_with_something_behind_it_is_refused(more):
    assert refused(encode(FULL, KEY) + more)


@pytest.mark.parametrize("data", [b"", b"\n", b"\n{}", b"{}", b"\0" * 100, b"\xff\n\xff"])
def test_unsigned_data_is_refused(data):
    assert refused(data)


@pytest.mark.parametrize("key", [b"", manifest_key(""), manifest_key("the secret key of the tests "), b"x"])
def test_a_manifest_that_another_key_signed_is_refused(key):
    assert refused(encode(FULL, key))


def test_the_secret_itself_is_not_the_key():
    assert refused(encode(FULL, b"the secret key of the tests"))


@pytest.mark.parametrize("schema", [SCHEMA + 1, SCHEMA - 1, str(SCHEMA), None, 0])
def test_another_schema_is_refused(schema):
    with pytest.raises(ManifestRefused, match="schema"):
        decode(signed(fields(schema=schema)), KEY)


def test_a_manifest_of_this_release_is_of_no_newer_one():
    assert (FULL.is_of_this_release, FULL.is_of_a_newer_release) == (True, False)


@pytest.mark.parametrize(("schema", "is_newer"), [(SCHEMA + 1, True), (SCHEMA - 1, False)])
def test_a_manifest_of_another_schema_is_read_without_its_segments(schema, is_newer):
    with pytest.raises(OtherSchema) as found:
        decode(signed(fields(schema=schema)), KEY)

    assert found.value.manifest == replace(FULL, schema=schema, segments={})
    assert not found.value.manifest.is_of_this_release
    assert found.value.manifest.is_of_a_newer_release is is_newer


def test_too_many_segments_are_refused():
    several = {f"{number}": ["", DIGEST, 1] for number in range(10_001)}

    with pytest.raises(ManifestRefused, match="segments"):
        decode(signed(fields(segments=several)), KEY)


def test_an_oversize_manifest_is_refused_unread(monkeypatch):
    data = encode(FULL, KEY)
    monkeypatch.setattr(manifests, "MAX_MANIFEST_BYTES", len(data) - 1)

    with pytest.raises(ManifestRefused, match="more than"):
        decode(data, KEY)


@pytest.mark.parametrize(
    "changes",
    [
        {"revision": "seven"},
        {"revision": None},
        {"revocations": []},
        {"reloads": 1e999},
        {"published_at": 10**400},
        {"published_at": "yesterday"},
        {"segments": []},
        {"segments": {"settings": []}},
        {"segments": {"settings": ["never", DIGEST]}},
        {"segments": {"settings": ["never", DIGEST, 1, 2]}},
        {"segments": {"settings": ["never", DIGEST, "x"]}},
        {"segments": {"settings": ["never", DIGEST, -1]}},
        {"segments": {"settings": ["never", DIGEST, MAX_SEGMENT_BYTES + 1]}},
        {"segments": {"settings": ["never", DIGEST[1:], 1]}},
        {"segments": {"settings": ["never", DIGEST.upper(), 1]}},
        {"segments": {"settings": ["never", "../" * 21 + "a", 1]}},
        {"segments": {"settings": ["never", None, 1]}},
    ],
    ids=repr,
)
def test_an_invalid_field_is_refused(changes):
    assert refused(signed(fields(**changes)))


@pytest.mark.parametrize("field", fields())
def test_a_field_that_is_missing_is_refused(field):
    assert refused(signed({name: value for name, value in fields().items() if name != field}))


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff", b"{}", b"[" * 100_000, b'{"schema":' + b"9" * 5000]
)
def test_a_body_that_is_no_manifest_is_refused(body):
    assert refused(signed(body))


NEXT = replace(FULL.version, revision=8)


@pytest.mark.parametrize(
    ("later", "may"),
    [
        (FULL, True),
        (replace(FULL, published_at=1.0), True),
        (replace(FULL, version=NEXT), True),
        (replace(FULL, version=replace(FULL.version, revocations=4)), True),
        (replace(FULL, version=replace(FULL.version, reloads=3)), True),
        (replace(FULL, version=replace(NEXT, revocations=0, reloads=0)), True),
        (replace(FULL, version=replace(FULL.version, revision=6)), False),
        (replace(FULL, version=replace(FULL.version, revision=6, revocations=99, reloads=99)), False),
        (replace(FULL, version=replace(FULL.version, revocations=2)), False),
        (replace(FULL, version=replace(FULL.version, revocations=2, reloads=99)), False),
        (replace(FULL, version=replace(FULL.version, reloads=1)), False),
        (a_manifest(99, epoch=OTHER_EPOCH), False),
        (a_manifest(99, epoch=OTHER_EPOCH, parent_epoch="another"), False),
        (a_manifest(1, epoch=OTHER_EPOCH, parent_epoch=EPOCH), True),
    ],
)
def test_a_manifest_follows_forward_or_as_a_confirmed_epoch(later, may):
    assert later.may_follow(FULL) is may


def test_any_manifest_may_be_the_first():
    assert FULL.may_follow(None)


def test_a_manifest_holds_no_key():
    assert KEY not in encode(FULL, KEY)
    assert KEY.hex().encode() not in encode(FULL, KEY)


def test_a_segment_of_the_largest_size_is_named():
    manifest = a_manifest(segments={"users": SegmentRef("never", DIGEST, MAX_SEGMENT_BYTES)})

    assert decode(encode(manifest, KEY), KEY) == manifest


def test_a_manifest_has_one_spelling():
    segments = {name: SegmentRef("never", DIGEST, 100) for name in ("settings", "users", "domains")}
    one, other = (a_manifest(segments=dict(order)) for order in (segments.items(), reversed(segments.items())))

    assert encode(one, KEY) == encode(other, KEY)


@pytest.mark.parametrize(
    ("name", "size"), [("MAX_MANIFEST_BYTES", len(encode(FULL, KEY))), ("_MAX_SEGMENTS", len(FULL.segments))]
)
def test_the_largest_manifest_is_written_and_read_and_a_larger_one_is_not_written(monkeypatch, name, size):
    monkeypatch.setattr(manifests, name, size)
    assert decode(encode(FULL, KEY), KEY) == FULL

    monkeypatch.setattr(manifests, name, size - 1)
    with pytest.raises(ValueError, match="larger than readers accept"):
        encode(FULL, KEY)


def test_a_segment_may_be_empty():
    assert decode(signed(fields(segments={"users": ["", DIGEST, 0]})), KEY).segments["users"].size == 0


@pytest.mark.parametrize("digest", ["X" * 64, "A" * 64, "g" * 64, "0" * 63, "0" * 65])
def test_a_digest_is_64_hexadecimal_digits_in_lower_case(digest):
    assert refused(signed(fields(segments={"users": ["", digest, 1]})))
