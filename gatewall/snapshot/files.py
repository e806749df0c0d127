"""Published policy files: segments named by their digest, the signed manifest ``current``, and a ``shadow``. Pure.

Files are never changed in place: each is written under another name, synced and renamed, so that a reader sees the
old or the new one, and a crash leaves one of them.
"""

import hashlib
import mmap
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gatewall.kernel.file_io import open_lock, replace_file, try_lock
from gatewall.snapshot import manifest as manifests
from gatewall.snapshot import overlay as overlays
from gatewall.snapshot.confirmed import Confirmations
from gatewall.snapshot.manifest import Manifest, ManifestRefused, OtherSchema, SegmentRef
from gatewall.snapshot.overlay import Overlay
from gatewall.snapshot.pattern_cache import PatternCache

_KEPT_SECONDS = 10
"""How long a segment outlives the policy that named it. Later readers find a newer manifest."""
PATIENCE_SECONDS = 10.0
"""Longer than a publisher compiles; a stopped one keeps the lock indefinitely."""
_LOOK_SECONDS = 0.01
Stamp = tuple[int, int, int]


class NotForward(ValueError):
    """The manifest would roll the policy back; a new epoch must be confirmed first."""


class PolicyFiles:
    """Policy folder ``GATEWALL_HOME/policy`` of one host."""

    def __init__(self, folder: Path, key: bytes) -> None:
        self.folder = folder
        self._segments = folder / "segments"
        self._current = folder / "current"
        self._overlay = folder / "shadow"
        self._key = key
        self.patterns = PatternCache(folder / "patterns", key)
        self.confirmations = Confirmations(folder)

    def stamp(self) -> Stamp | None:
        """Return a stamp that changes whenever ``current`` is replaced, or None without one."""
        return _stamp_of(self._current)

    def manifest(self) -> Manifest | None:
        """Return the current manifest, or None. Raises ManifestRefused, OtherSchema, OSError."""
        try:
            with self._current.open("rb") as file:
                data = file.read(manifests.MAX_MANIFEST_BYTES + 1)
        except FileNotFoundError:
            return None
        return manifests.decode(data, self._key)

    def overlay_stamp(self) -> Stamp | None:
        """Return a stamp that changes whenever the shadow overlay is replaced, or None without one."""
        return _stamp_of(self._overlay)

    def overlay(self) -> Overlay | None:
        """Return the overlay of the shadow policy, or None. Raises ManifestRefused, OSError."""
        try:
            with self._overlay.open("rb") as file:
                data = file.read(manifests.MAX_MANIFEST_BYTES + 1)
        except FileNotFoundError:
            return None
        return overlays.decode(data, self._key)

    def in_force(self) -> Manifest | None:
        """Return the manifest that a publisher must follow, of any release. Raises OSError.

        None if it is missing, damaged, or signed with a former key.
        """
        try:
            return self.manifest()
        except OtherSchema as other:
            return other.manifest
        except ManifestRefused:
            return None

    def segment(self, ref: SegmentRef) -> memoryview:
        """Return a segment's bytes, memory-mapped: workers share them, and they survive the removal of their file.

        Raises ManifestRefused if the bytes do not match the reference, OSError.
        """
        with (self._segments / ref.sha256).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            # Files are never changed in place (module's docstring), so the mapping is stable.
            data = memoryview(_mapped(file.fileno(), size) if size else b"")
        if size != ref.size or hashlib.sha256(data).hexdigest() != ref.sha256:
            raise ManifestRefused(f"segment {ref.sha256[:12]} is damaged")
        return data

    def has(self, ref: SegmentRef) -> bool:
        """True if a file of this size exists; ``is_intact()`` checks its content."""
        try:
            return (self._segments / ref.sha256).stat().st_size == ref.size
        except OSError:
            return False

    def is_intact(self, ref: SegmentRef) -> bool:
        """True if the segment's file has its digest. Reads all of it."""
        try:
            self.segment(ref)
        except (OSError, ManifestRefused):
            return False
        return True

    def write_segment(self, data: bytes, change: str) -> SegmentRef:
        """Store a segment's bytes as of this change, and return its reference for a manifest."""
        ref = SegmentRef(change, hashlib.sha256(data).hexdigest(), len(data))
        path = self._segments / ref.sha256
        if self.is_intact(ref):
            os.utime(path)  # keeps it from the sweep
        else:
            self._make_folders()
            replace_file(path, data, synced=True)
        return ref

    def publish(self, manifest: Manifest) -> None:
        """Publish a manifest. The caller holds ``publishing()``. Raises NotForward."""
        before = self.in_force()
        if not manifest.may_follow(before):
            raise NotForward(f"revision {manifest.version.revision} does not follow the one in force")
        self._make_folders()
        replace_file(self._current, manifests.encode(manifest, self._key), synced=True)
        self._sweep(manifest, _digests(before))

    def publish_overlay(self, overlay: Overlay | None) -> None:
        """Publish the overlay of the shadow policy, or remove it. The caller holds ``publishing()``. Raises OSError."""
        before, manifest = self._overlay_digests(), self.in_force()
        if overlay is None:
            self._overlay.unlink(missing_ok=True)
        else:
            replace_file(self._overlay, overlays.encode(overlay, self._key), synced=True)
        if manifest is not None and manifest.is_of_this_release:
            self._sweep(manifest, before)

    def _overlay_digests(self) -> set[str]:
        try:
            overlay = self.overlay()
        except (OSError, ManifestRefused):
            return set()
        return {each.ref.sha256 for each in overlay.segments.values()} if overlay else set()

    @contextmanager
    def publishing(self, patience: float = PATIENCE_SECONDS) -> Iterator[None]:
        """Hold the publisher lock of this host. Raises OSError after ``patience`` seconds of waiting."""
        self._make_folders()
        descriptor = open_lock(self.folder / "lock")
        try:
            _lock(descriptor, patience)
            yield
        finally:
            os.close(descriptor)

    def _make_folders(self) -> None:
        for folder in (self.folder, self._segments):  # mkdir(parents=True) ignores the mode for parents
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _sweep(self, manifest: Manifest, before: set[str]) -> None:
        """Remove segments that no reader of a recent manifest or overlay may still open, and unfinished manifests.

        ``before``: digests of segments that were in use until now.

        The modification time of an unused segment is when it was last used.
        """
        prefixes = tuple([f".{path.name}." for path in (self._current, self._overlay)])
        for name in os.listdir(self.folder):  # noqa: PTH208 - pathlib's takes ten times as long, in each publication
            if name.startswith(prefixes):  # of a killed publisher: we hold the lock, and ours is renamed already
                (self.folder / name).unlink(missing_ok=True)
        used, now = _digests(manifest) | self._overlay_digests(), time.time()
        for digest in before - used:
            with suppress(FileNotFoundError):
                os.utime(self._segments / digest)
        for entry in os.scandir(self._segments):
            if entry.name not in used and abs(now - entry.stat().st_mtime) > _KEPT_SECONDS:
                Path(entry.path).unlink(missing_ok=True)


def _stamp_of(path: Path) -> Stamp | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - called for every control-plane decision
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _digests(manifest: Manifest | None) -> set[str]:
    return {ref.sha256 for ref in manifest.segments.values()} if manifest else set()


def _lock(descriptor: int, patience: float) -> None:
    deadline = time.monotonic() + patience
    while not try_lock(descriptor):
        if time.monotonic() >= deadline:
            raise OSError(f"another process has been publishing for {patience:.0f} s: is it stopped?")
        time.sleep(_LOOK_SECONDS)


def _mapped(descriptor: int, size: int) -> mmap.mmap:
    try:
        return mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
    except ValueError as error:  # the file was truncated after fstat
        raise ManifestRefused(str(error)) from None
