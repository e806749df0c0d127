"""The signed overlay of a shadow policy: the segments that replace those of the live policy. Pure.

Signed like the manifest, but for another purpose, so neither file is accepted as the other.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gatewall.snapshot.codec import SCHEMA
from gatewall.snapshot.manifest import MAX_MANIFEST_BYTES, ManifestRefused, SegmentRef, decode_ref

_PURPOSE = b"gatewall shadow overlay 1\n"
_MAX_SEGMENTS = 1_000


@dataclass(frozen=True, slots=True)
class Replacement:
    """A segment of the shadow policy, and the digest of the live segment that it was compiled from ("": none)."""

    ref: SegmentRef
    replaces: str


@dataclass(frozen=True, slots=True)
class Overlay:
    """The segments in which the shadow policy differs from the live one, and the share of traffic to try it on.

    ``removed``: live segments that the shadow policy lacks, with the digest of each. ``id`` names the document.
    """

    id: str
    percent: int
    cpu_percent: int
    segments: Mapping[str, Replacement]
    removed: Mapping[str, str]

    def is_of(self, digests: Mapping[str, str]) -> bool:
        """True if it was compiled from these live segments, by name; else it must be compiled again."""
        replaced = {name: each.replaces for name, each in self.segments.items()} | dict(self.removed)
        return all(digests.get(name, "") == digest for name, digest in replaced.items())


def encode(overlay: Overlay, key: bytes) -> bytes:
    """Serialize and sign an overlay. Raises ValueError if it is larger than readers accept."""
    body = json.dumps(
        {
            "schema": SCHEMA,
            "id": overlay.id,
            "percent": overlay.percent,
            "cpu_percent": overlay.cpu_percent,
            "segments": {
                name: [each.ref.change, each.ref.sha256, each.ref.size, each.replaces]
                for name, each in overlay.segments.items()
            },
            "removed": dict(overlay.removed),
        },
        separators=(",", ":"),
        sort_keys=True,
    ).encode()
    if len(body) + 65 > MAX_MANIFEST_BYTES or len(overlay.segments) > _MAX_SEGMENTS:
        raise ValueError(f"an overlay of {len(overlay.segments)} segments is larger than readers accept")
    return _signature(body, key) + b"\n" + body


def decode(data: bytes, key: bytes) -> Overlay:
    """Verify and parse an overlay. Raises ManifestRefused."""
    signature, newline, body = data.partition(b"\n")
    if len(data) > MAX_MANIFEST_BYTES or not newline or not hmac.compare_digest(signature, _signature(body, key)):
        raise ManifestRefused("the shadow overlay is not signed with our key")
    try:
        return _decode_fields(json.loads(body))
    except ManifestRefused:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ManifestRefused(f"{type(error).__name__} while reading the shadow overlay") from None


def _signature(body: bytes, key: bytes) -> bytes:
    return hmac.new(key, _PURPOSE + body, hashlib.sha256).hexdigest().encode()


def _decode_fields(fields: Mapping[str, Any]) -> Overlay:
    if fields["schema"] != SCHEMA:
        raise ManifestRefused(f"the shadow overlay has schema {fields['schema']!r}, not {SCHEMA}")
    segments = {
        str(name): Replacement(decode_ref(ref), str(replaces)) for name, (*ref, replaces) in fields["segments"].items()
    }
    removed = {str(name): str(digest) for name, digest in fields["removed"].items()}
    if len(segments) > _MAX_SEGMENTS:
        raise ManifestRefused(f"the shadow overlay has more than {_MAX_SEGMENTS} segments")
    return Overlay(str(fields["id"]), int(fields["percent"]), int(fields["cpu_percent"]), segments, removed)
