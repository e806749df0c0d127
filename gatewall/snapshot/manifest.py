"""The signed manifest: which segments make up a policy version. Pure.

A manifest is one line with the HMAC-SHA256 of the JSON after it. The key is derived from ``GATEWALL_SECRET_KEY`` for
this purpose only, so that no other signature can pass for one.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gatewall.engine.snapshot import Version
from gatewall.snapshot.codec import MAX_SEGMENT_BYTES, SCHEMA

MAX_MANIFEST_BYTES = 1024 * 1024
_MAX_SEGMENTS = 10_000
_HEX = frozenset("0123456789abcdef")


class ManifestRefused(ValueError):
    """The bytes are not a manifest signed with our key, or are malformed."""


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """Reference to a segment: its last change, and digest and size of its bytes."""

    change: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """One published version.

    ``parent_epoch``: the epoch that this one was confirmed to follow. ``lineage`` distinguishes equal version numbers
    before and after a database restore. ``segments`` is empty for a manifest of another schema.
    """

    version: Version
    parent_epoch: str
    lineage: str
    published_at: float
    segments: Mapping[str, SegmentRef]
    schema: int = SCHEMA

    @property
    def is_of_this_release(self) -> bool:
        """True if this release can read its segments."""
        return self.schema == SCHEMA

    @property
    def is_of_a_newer_release(self) -> bool:
        """True if a newer release published it."""
        return self.schema > SCHEMA

    def may_follow(self, other: "Manifest | None") -> bool:
        """True if this may replace the other: equal or newer in its epoch, or a confirmed new epoch."""
        if other is None or self.version == other.version:
            return True
        if self.version.epoch == other.version.epoch:
            return self.version.supersedes(other.version)
        return self.parent_epoch == other.version.epoch


class OtherSchema(ManifestRefused):
    """A manifest signed by another release; ``manifest`` has the fields common to all schemas, without segments."""

    def __init__(self, manifest: Manifest) -> None:
        super().__init__(f"schema {manifest.schema}, not {SCHEMA}")
        self.manifest = manifest


def encode(manifest: Manifest, key: bytes) -> bytes:
    """Serialize and sign a manifest. Raises ValueError if it is larger than readers accept."""
    version = manifest.version
    body = json.dumps(
        {
            "schema": SCHEMA,
            "epoch": version.epoch,
            "parent_epoch": manifest.parent_epoch,
            "lineage": manifest.lineage,
            "revision": version.revision,
            "revocations": version.revocations,
            "reloads": version.reloads,
            "published_at": manifest.published_at,
            "segments": {name: [ref.change, ref.sha256, ref.size] for name, ref in manifest.segments.items()},
        },
        separators=(",", ":"),
        sort_keys=True,
    ).encode()
    if len(body) + 65 > MAX_MANIFEST_BYTES or len(manifest.segments) > _MAX_SEGMENTS:
        raise ValueError(f"a manifest of {len(manifest.segments)} segments is larger than readers accept")
    return _signature(body, key) + b"\n" + body


def decode(data: bytes, key: bytes) -> Manifest:
    """Verify and parse a manifest. Raises ManifestRefused, OtherSchema."""
    if len(data) > MAX_MANIFEST_BYTES:
        raise ManifestRefused(f"more than {MAX_MANIFEST_BYTES} bytes")
    signature, newline, body = data.partition(b"\n")
    if not newline or not hmac.compare_digest(signature, _signature(body, key)):
        raise ManifestRefused("not signed with our key")
    try:
        return _decode_fields(json.loads(body))
    except ManifestRefused:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ManifestRefused(f"{type(error).__name__} while reading it") from None


def _signature(body: bytes, key: bytes) -> bytes:
    return hmac.new(key, body, hashlib.sha256).hexdigest().encode()


def _decode_fields(fields: Mapping[str, Any]) -> Manifest:
    schema = fields["schema"]
    if type(schema) is not int:
        raise ManifestRefused(f"schema {schema!r}, not {SCHEMA}")
    # All fields but the segments are the same in every schema, so that a restored database is detected across releases.
    version = Version(
        revision=int(fields["revision"]),
        revocations=int(fields["revocations"]),
        reloads=int(fields["reloads"]),
        epoch=str(fields["epoch"]),
    )
    parent_epoch, lineage = str(fields["parent_epoch"]), str(fields["lineage"])
    manifest = Manifest(version, parent_epoch, lineage, float(fields["published_at"]), {}, schema)
    if not manifest.is_of_this_release:
        raise OtherSchema(manifest)
    return replace(manifest, segments=_decode_segments(fields["segments"]))


def _decode_segments(named: Mapping[str, Any]) -> dict[str, SegmentRef]:
    segments = {str(name): decode_ref(ref) for name, ref in named.items()}
    if len(segments) > _MAX_SEGMENTS:
        raise ManifestRefused(f"more than {_MAX_SEGMENTS} segments")
    return segments


def decode_ref(ref: Any) -> SegmentRef:
    """Parse a reference to a segment. Raises ManifestRefused, ValueError, TypeError."""
    change, sha256, size = ref
    if not (isinstance(sha256, str) and len(sha256) == 64 and _HEX.issuperset(sha256)):
        raise ManifestRefused("a segment's digest is not SHA-256 in hexadecimal")
    if not 0 <= int(size) <= MAX_SEGMENT_BYTES:
        raise ManifestRefused("a segment is too large")
    return SegmentRef(str(change), sha256, int(size))
