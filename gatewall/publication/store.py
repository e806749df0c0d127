"""Load the control plane's policy from committed rows, through the published files of its host."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from django.db import Error

from gatewall.engine.snapshot import PolicySnapshot, Version
from gatewall.policy import revisions
from gatewall.publication.compiler import Moment, one_moment, segment_bytes
from gatewall.publication.lineage import refuse_going_back, reusable
from gatewall.snapshot.assembly import Assembly, SegmentData
from gatewall.snapshot.files import PolicyFiles
from gatewall.snapshot.holder import PolicyRefused, PolicyUnavailable
from gatewall.snapshot.manifest import Manifest, ManifestRefused, SegmentRef
from gatewall.snapshot.published import ManifestInForce


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What the policy in memory was made of: its version and, by segment, the change and the digest of the bytes."""

    version: Version
    segments: Mapping[str, tuple[str, str]]


class DatabasePolicyStore:
    """Asks the database for the version on every request, and reads the segments that have changed.

    One indexed row is what makes the writer's next request see the change in every process, on every
    host, and a rolled-back change be seen by nobody.

    A reload counts once this host has published it. Its publisher compiles every segment, and all workers take what
    differs from the files: if each compiled a long list itself, none of them would answer meanwhile.
    """

    def __init__(self, files: PolicyFiles) -> None:
        """``files`` say what is in force on this host: a database that was put back does not count against it."""
        self._files = files
        self._in_force = ManifestInForce(files)
        self._assembly = Assembly(files.patterns)
        self._loaded: _Loaded | None = None

    def version(self) -> Version:
        """Return the committed version, without a reload that is not published yet. Raises PolicyUnavailable."""
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
        """Return the policy of this version or a later one. Raises PolicyUnavailable, PolicyRefused."""
        try:
            return self._load()
        except Error as error:
            raise PolicyUnavailable(f"the rows cannot be read ({type(error).__name__})") from error
        except OSError as error:
            raise PolicyUnavailable(f"the published policy cannot be read ({type(error).__name__})") from error
        except ValueError as error:
            raise PolicyRefused(f"revision {version.revision} cannot be used: {error}") from error

    def _load(self) -> PolicySnapshot:
        before = self._files.in_force()  # first: nothing is published before it is committed
        with one_moment() as moment:
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
        """Return a segment by the digest of its bytes: equal bytes keep their table, whatever was reloaded."""
        change, loaded = moment.segments[name], self._loaded
        if published is not None and published.change == change:
            return SegmentData(published.sha256, partial(self._read, moment, name, published))
        if loaded is not None and (loaded.version.epoch, loaded.version.reloads) == (version.epoch, version.reloads):
            known_change, digest = loaded.segments.get(name, ("", ""))
            if known_change == change:
                return SegmentData(digest, partial(segment_bytes, moment, name))
        data = segment_bytes(moment, name)
        return SegmentData(hashlib.sha256(data).hexdigest(), lambda: data)

    def _read(self, moment: Moment, name: str, published: SegmentRef) -> bytes | memoryview:
        """Return a segment from the file that all workers of the host share or, if that is damaged, from the rows."""
        with suppress(OSError, ManifestRefused):
            return self._files.segment(published)
        return segment_bytes(moment, name)


def _without_pending_reload(committed: Version, loaded: Version, in_force: Manifest | None) -> Version:
    """Return the committed version, but with the reload of the loaded one while its own is not published here."""
    if committed.epoch != loaded.epoch or committed.reloads <= loaded.reloads:
        return committed
    published = in_force.version if in_force is not None else None
    if published is not None and published.epoch == committed.epoch and published.reloads >= committed.reloads:
        return committed
    return replace(committed, reloads=loaded.reloads)
