"""The signed manifest: which segments make up a policy version. Pure.

A manifest is one line with the HMAC-SHA256 of the JSON below it. The key is derived from
``GATEWALL_SECRET_KEY`` for this use alone, so that no other signature of ours can pass for one.
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
    """The bytes are not a manifest that we signed, or not one of this schema."""


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """A segment as the manifest names it: its last change, and digest and size of its bytes."""

    change: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """One published version.

    ``parent_epoch`` is the epoch that this one was confirmed to follow; ``lineage`` tells the
    version from one of the same numbers in a database that was restored in between. ``segments``
    are those of this schema alone: of another one, what stands in them is not known.
    """

    version: Version
    parent_epoch: str
    lineage: str
    published_at: float
    segments: Mapping[str, SegmentRef]
    schema: int = SCHEMA

    @property
    def is_of_this_release(self) -> bool:
        """True if its segments can be read here."""
        return self.schema == SCHEMA

    @property
    def is_of_a_newer_release(self) -> bool:
        """True if a release after this one has published it."""
        return self.schema > SCHEMA

    def may_follow(self, other: "Manifest | None") -> bool:
        """True if this may take the other's place: the same or forward in its epoch, or a confirmed new epoch."""
        if other is None or self.version == other.version:
            return True
        if self.version.epoch == other.version.epoch:
            return self.version.supersedes(other.version)
        return self.parent_epoch == other.version.epoch


class OtherSchema(ManifestRefused):
    """We signed it, as another release; ``manifest`` is what it says in every schema, without segments."""

    def __init__(self, manifest: Manifest) -> None:
        super().__init__(f"schema {manifest.schema}, not {SCHEMA}")
        self.manifest = manifest


def encode(manifest: Manifest, key: bytes) -> bytes:
    """Return the signed bytes of a manifest. Raises ValueError if it is larger than readers accept."""
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
        raise ValueError(f"a manifest of {len(manifest.segments)} segments is more than anybody would read")
    return _signature(body, key) + b"\n" + body


def decode(data: bytes, key: bytes) -> Manifest:
    """Return the manifest of these bytes. Raises ManifestRefused, OtherSchema."""
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
    # All but the segments stands in the same place in every schema: a database that went back is found across releases.
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
    segments = {str(name): _decode_ref(ref) for name, ref in named.items()}
    if len(segments) > _MAX_SEGMENTS:
        raise ManifestRefused(f"more than {_MAX_SEGMENTS} segments")
    return segments


def _decode_ref(ref: Any) -> SegmentRef:
    change, sha256, size = ref
    if not (isinstance(sha256, str) and len(sha256) == 64 and _HEX.issuperset(sha256)):
        raise ManifestRefused("a digest is not one")
    if not 0 <= int(size) <= MAX_SEGMENT_BYTES:
        raise ManifestRefused("a segment is too large")
    return SegmentRef(str(change), sha256, int(size))
