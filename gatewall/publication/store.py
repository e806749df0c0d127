"""Load the control plane's policy from the database, sharing unchanged segments with the published files."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from django.db import Error

from gatewall.engine.snapshot import PolicySnapshot, Version
from gatewall.policy import revisions
from gatewall.publication.compiler import Moment, consistent_read, segment_bytes
from gatewall.publication.lineage import refuse_going_back, reusable
from gatewall.snapshot.assembly import Assembly, Built, SegmentData
from gatewall.snapshot.files import PolicyFiles
from gatewall.snapshot.holder import PolicyRefused, PolicyUnavailable
from gatewall.snapshot.manifest import Manifest, ManifestRefused, SegmentRef
from gatewall.snapshot.published import ManifestInForce


@dataclass(frozen=True, slots=True)
class _Loaded:
    """Version of the policy in memory and, by segment, its change id and the digest of its bytes."""

    version: Version
    segments: Mapping[str, tuple[str, str]]


class DatabasePolicyStore:
    """Reads the version from the database on every request, and segments when they change.

    Reading one indexed row per request makes a committed change visible to every process on every host at once.

    A reload takes effect once this host has published it: its publisher compiles every segment once, and all workers
    read the differing segments from the files, instead of each compiling long lists itself.
    """

    def __init__(self, files: PolicyFiles) -> None:
        """``files``: the published policy of this host; it detects a restored database."""
        self._files = files
        self._in_force = ManifestInForce(files)
        self._assembly = Assembly(files.patterns)
        self._loaded: _Loaded | None = None

    def built(self) -> Built | None:
        """Return the tables of the newest policy, to compose a shadow policy."""
        return self._assembly.built

    def version(self) -> Version:
        """Return the committed version, without an unpublished reload. Raises PolicyUnavailable."""
        try:
            committed = revisions.current()
            loaded = self._loaded
            if loaded is None or committed.reloads == loaded.version.reloads:
                return committed
            return _without_pending_reload(committed, loaded.version, self._in_force.manifest())
        except Error as error:
            raise PolicyUnavailable(f"the database cannot be read ({type(error).__name__})") from error
        except OSError as error:
            raise PolicyUnavailable(f"the published policy cannot be read ({type(error).__name__})") from error

    def load(self, version: Version) -> PolicySnapshot:
        try:
            return self._load()
        except Error as error:
            raise PolicyUnavailable(f"the rows cannot be read ({type(error).__name__})") from error
        except OSError as error:
            raise PolicyUnavailable(f"the published policy cannot be read ({type(error).__name__})") from error
        except ValueError as error:
            raise PolicyRefused(f"revision {version.revision} cannot be used: {error}") from error

    def _load(self) -> PolicySnapshot:
        before = self._files.in_force()  # before the rows: a policy is published after its commit
        with consistent_read() as moment:
            refuse_going_back(before, moment.head)
            version = revisions.version_of(moment.head)
            if self._loaded is not None:
                version = _without_pending_reload(version, self._loaded.version, before)
            published = reusable(before, version)
            segments = {name: self._segment(moment, name, version, published.get(name)) for name in moment.segments}
            policy = self._assembly.build(version, segments)
        changes = {name: (moment.segments[name], data.identity) for name, data in segments.items()}
        self._loaded = _Loaded(version, changes)
        return policy

    def _segment(self, moment: Moment, name: str, version: Version, published: SegmentRef | None) -> SegmentData:
        """Return a segment identified by its digest, so that equal bytes keep their table after a reload."""
        change, loaded = moment.segments[name], self._loaded
        if published is not None and published.change == change:
            return SegmentData(published.sha256, partial(self._read, moment, name, published))
        if loaded is not None and (loaded.version.epoch, loaded.version.reloads) == (version.epoch, version.reloads):
            known_change, digest = loaded.segments.get(name, ("", ""))
            if known_change == change:
                return SegmentData(digest, partial(segment_bytes, moment, name))
        return SegmentData.of(segment_bytes(moment, name))

    def _read(self, moment: Moment, name: str, published: SegmentRef) -> bytes | memoryview:
        """Read a segment from the shared file or, if that is damaged, from the rows."""
        with suppress(OSError, ManifestRefused):
            return self._files.segment(published)
        return segment_bytes(moment, name)


def _without_pending_reload(committed: Version, loaded: Version, in_force: Manifest | None) -> Version:
    """Return the committed version, with the loaded reload count until the new one is published here."""
    if committed.epoch != loaded.epoch or committed.reloads <= loaded.reloads:
        return committed
    published = in_force.version if in_force is not None else None
    if published is not None and published.epoch == committed.epoch and published.reloads >= committed.reloads:
        return committed
    return replace(committed, reloads=loaded.reloads)
