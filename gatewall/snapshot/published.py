"""Follow the published policy files in a data-plane process. No Django.

Static stability: once there is a policy, it remains in force while files cannot be read or are refused.
"""

import logging
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from threading import Event, Lock, Thread

from gatewall.engine.snapshot import PolicySnapshot, Version
from gatewall.snapshot.assembly import Assembly, Built, SegmentData, SegmentRefused
from gatewall.snapshot.confirmed import PolicyAge
from gatewall.snapshot.files import PolicyFiles, Stamp
from gatewall.snapshot.folder_watch import FolderWatch
from gatewall.snapshot.manifest import Manifest, ManifestRefused
from gatewall.snapshot.worker_report import WorkerReport

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.25
_POLL_SECONDS_UNWOKEN = 0.05
"""Polling interval without inotify."""


class PublishedPolicies:
    """Policy of the data plane, loaded from the files that the agent publishes."""

    def __init__(
        self, files: PolicyFiles, report: WorkerReport | None = None, on_reload: Callable[[], None] = lambda: None
    ) -> None:
        """``on_reload`` runs when an operator requested a full reload, before the report."""
        self._files = files
        self._report = report
        self._on_reload = on_reload
        self._assembly = Assembly(files.patterns)
        self._policy: PolicySnapshot | None = None
        self._manifest: Manifest | None = None
        self._seen_stamp: Stamp | None = None
        self._loaded_stamp: Stamp | None = None
        self._confirmed_at: float | None = None
        self.age = PolicyAge(lambda: self._confirmed_at)
        self._alarm = False
        self._lock = Lock()
        self._stop = Event()

    def current(self) -> PolicySnapshot | None:
        """Return the newest policy loaded, or None if there never was one."""
        return self._policy

    def built(self) -> Built | None:
        """Return the tables of the newest policy, to compose a shadow policy."""
        return self._assembly.built

    def refresh(self) -> None:
        """Load a newly published policy, if any, and take over its confirmation."""
        confirmed_at, stamp = self._files.confirmations.last(), None  # first: a policy is confirmed after publication
        try:
            stamp = self._files.stamp()
            if stamp != self._seen_stamp:
                with self._lock:
                    self._refresh()
        except OSError as error:
            # The stamp is not remembered: the next refresh may find the file, or a free file descriptor, again.
            logger.warning("published policy not read: %s", error)
        if confirmed_at is not None and stamp is not None and stamp == self._loaded_stamp:
            self._confirmed_at = confirmed_at

    def _refresh(self) -> None:
        stamp = self._files.stamp()
        if stamp == self._seen_stamp:
            return
        try:
            self._load(stamp)
        except (ManifestRefused, SegmentRefused) as error:
            logger.error("policy.rejected: %s", error)  # noqa: TRY400 - the message is enough
            if self._report:
                self._report.rejected(str(error))
        self._seen_stamp = stamp

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
        self._policy, self._manifest, self._loaded_stamp = policy, manifest, stamp
        if reloaded:
            self._on_reload()
        if self._report:
            self._report.loaded(policy)

    def watch(self) -> None:
        """Refresh at each publication and every 250 ms (50 without inotify), in a background thread."""
        self.refresh()
        # Writers wait for the workers that have reported. A second refresh catches what was published before our first
        # report; later publishers find the report.
        self.refresh()
        Thread(target=self._watch, name="policy", daemon=True).start()

    def _watch(self) -> None:
        with closing(FolderWatch(self._files.folder)) as publications:
            while not self._stop.is_set():
                publications.wait(_POLL_SECONDS if publications.is_woken else _POLL_SECONDS_UNWOKEN)
                self.refresh()
                self._log_alarm_change()

    def _log_alarm_change(self) -> None:
        alarm = self.age.alarm()
        if bool(alarm) != self._alarm:
            self._alarm = bool(alarm)
            logger.log(logging.WARNING if alarm else logging.INFO, "policy %s", alarm or "confirmed again")

    def close(self) -> None:
        self._stop.set()


class ManifestInForce:
    """Current manifest of this host, of any release; re-read when ``current`` is replaced."""

    def __init__(self, files: PolicyFiles) -> None:
        self._files = files
        self._known: tuple[Stamp | None, Manifest | None] = (None, None)

    def manifest(self) -> Manifest | None:
        """Return the manifest, or None if none can be trusted. Raises OSError."""
        stamp = self._files.stamp()
        if stamp != self._known[0]:
            self._known = stamp, self._files.in_force()
        return self._known[1]


class LastPublished:
    """Published policy of this host, for a process that reads the database while it is available."""

    def __init__(self, files: PolicyFiles) -> None:
        self._files = files
        self._published = PublishedPolicies(files)
        self._in_force = ManifestInForce(files)

    def later_than(self, version: Version | None) -> PolicySnapshot | None:
        """Return the published policy if it is newer in the same epoch, or if ``version`` is None; else None."""
        if version is not None:
            manifest = self._manifest()  # first: building the tables is expensive
            if manifest is None or not _follows(manifest.version, version):
                return None
        self._published.refresh()
        policy = self._published.current()
        if policy is None or version is None:
            return policy
        return policy if _follows(policy.version, version) else None

    def confirmed_at(self, version: Version) -> float | None:
        """Return when this version was last confirmed on this host; None if it is not the published one."""
        confirmed_at = self._files.confirmations.last()  # before the manifest, as in refresh()
        manifest = self._manifest()
        return confirmed_at if manifest is not None and manifest.version == version else None

    def _manifest(self) -> Manifest | None:
        with suppress(OSError):
            manifest = self._in_force.manifest()
            if manifest is not None and manifest.is_of_this_release:
                return manifest
        return None


def _follows(later: Version, version: Version) -> bool:
    """True if the version is newer in the same epoch; only the database can order epochs."""
    return later.epoch == version.epoch and later.supersedes(version)
