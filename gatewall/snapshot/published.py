"""Follow the published policy files in a data-plane process. No Django.

Static stability: once there is a policy, files that fail change nothing but a log line.
"""

import logging
from contextlib import suppress
from functools import partial
from threading import Event, Lock, Thread
from typing import Protocol

from gatewall.engine.snapshot import PolicySnapshot, Version
from gatewall.snapshot.assembly import Assembly, SegmentData, SegmentRefused
from gatewall.snapshot.confirmed import PolicyAge
from gatewall.snapshot.files import PolicyFiles, Stamp
from gatewall.snapshot.folder_watch import watching
from gatewall.snapshot.manifest import Manifest, ManifestRefused

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.05


class Observer(Protocol):
    """Told when the policy of this process has been replaced, or a new one refused."""

    def loaded(self, policy: PolicySnapshot, *, reloaded: bool) -> None:
        """``reloaded`` if somebody asked for everything to be read again."""

    def rejected(self, why: str) -> None:
        """Say that a published policy was not taken."""


class PublishedPolicies:
    """The policy of the data plane, read from the files that the agent publishes."""

    def __init__(self, files: PolicyFiles, observer: Observer | None = None) -> None:
        self._files = files
        self._observer = observer
        self._assembly = Assembly(files.patterns)
        self._policy: PolicySnapshot | None = None
        self._manifest: Manifest | None = None
        self._seen: Stamp | None = None
        self._taken: Stamp | None = None
        self._confirmed_at: float | None = None
        self.age = PolicyAge(lambda: self._confirmed_at)
        self._alarm = False
        self._lock = Lock()
        self._stop = Event()

    def current(self) -> PolicySnapshot | None:
        """Return the newest policy that could be loaded, or None if there never was one."""
        return self._policy

    def refresh(self) -> None:
        """Load what was published since, if anything was, and see whether that was confirmed."""
        confirmed_at, stamp = self._files.confirmations.last(), None  # first: a policy is published, then confirmed
        try:
            stamp = self._files.stamp()
            if stamp != self._seen:
                with self._lock:
                    self._refresh()
        except OSError as error:
            # Not remembered: the next look may find the file, or a file descriptor, again.
            logger.warning("published policy not read: %s", error)
        if confirmed_at is not None and stamp is not None and stamp == self._taken:
            self._confirmed_at = confirmed_at

    def _refresh(self) -> None:
        stamp = self._files.stamp()
        if stamp == self._seen:
            return
        try:
            self._load(stamp)
        except (ManifestRefused, SegmentRefused) as error:
            logger.error("policy.rejected: %s", error)  # noqa: TRY400 - the words say it all
            if self._observer:
                self._observer.rejected(str(error))
        self._seen = stamp

    def _load(self, stamp: Stamp | None) -> None:
        manifest = self._files.manifest()
        if manifest is None:
            return
        if not manifest.may_follow(self._manifest):
            raise ManifestRefused(f"revision {manifest.version.revision} does not follow the one in force")
        files = self._files
        segments = {
            name: SegmentData(ref.sha256, partial(files.segment, ref)) for name, ref in manifest.segments.items()
        }
        policy = self._assembly.build(manifest.version, segments)
        reloaded = self._manifest is not None and manifest.version.reloads != self._manifest.version.reloads
        self._policy, self._manifest, self._taken = policy, manifest, stamp
        if self._observer:
            self._observer.loaded(policy, reloaded=reloaded)

    def watch(self) -> None:
        """Refresh at each publication, and every 50 ms, from a thread of its own, off the path of the requests."""
        self.refresh()
        # Writers wait for the workers that have reported. What was published before the first report is taken now; who
        # publishes later finds the report.
        self.refresh()
        Thread(target=self._watch, name="policy", daemon=True).start()

    def _watch(self) -> None:
        with watching(self._files.folder) as publications:
            while not self._stop.is_set():
                publications.wait(_POLL_SECONDS)
                self.refresh()
                self._say_if_cut_off()

    def _say_if_cut_off(self) -> None:
        alarm = self.age.alarm()
        if bool(alarm) != self._alarm:
            self._alarm = bool(alarm)
            logger.log(logging.WARNING if alarm else logging.INFO, "policy %s", alarm or "confirmed again")

    def close(self) -> None:
        """End the thread."""
        self._stop.set()


class ManifestInForce:
    """The manifest in force on this host, of whichever release, which is read when ``current`` was replaced."""

    def __init__(self, files: PolicyFiles) -> None:
        self._files = files
        self._known: tuple[Stamp | None, Manifest | None] = (None, None)

    def manifest(self) -> Manifest | None:
        """Return it, or None if there is none that can be trusted. Raises OSError."""
        stamp = self._files.stamp()
        if stamp != self._known[0]:
            self._known = stamp, self._files.in_force()
        return self._known[1]


class LastPublished:
    """What this host has published, for a process that decides by the rows while they can be read."""

    def __init__(self, files: PolicyFiles) -> None:
        self._files = files
        self._published = PublishedPolicies(files)
        self._looked: tuple[Stamp | None, Version] | None = None
        self._in_force = ManifestInForce(files)

    def later_than(self, version: Version | None) -> PolicySnapshot | None:
        """Return the published policy if it is later than this version of the same epoch, or if there is none."""
        if version is not None and not self._is_later(version):
            return None
        self._published.refresh()
        policy = self._published.current()
        if policy is None or version is None:
            return policy
        return policy if _follows(policy.version, version) else None

    def confirmed_at(self, version: Version) -> float | None:
        """Return when this version was last confirmed on this host; None if it is not the published one."""
        confirmed_at = self._files.confirmations.last()  # first: see refresh()
        with suppress(OSError):
            manifest = self._in_force.manifest()
            if manifest is not None and manifest.is_of_this_release and manifest.version == version:
                return confirmed_at
        return None

    def _is_later(self, version: Version) -> bool:
        """Look at the manifest alone: the tables of every segment are built only if they are needed."""
        try:
            look = (self._files.stamp(), version)
            if look == self._looked:
                return False
            manifest = self._files.manifest()
        except (OSError, ManifestRefused):
            return False
        if manifest is not None and _follows(manifest.version, version):
            return True
        self._looked = look
        return False


def _follows(later: Version, version: Version) -> bool:
    """In one epoch alone: which of two is the later one, the database knows."""
    return later.epoch == version.epoch and later.supersedes(version)
