"""Wait after a commit until the change is in force on this host."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.conf import settings
from django.db import Error

from gatewall.engine.snapshot import Version
from gatewall.policy import revisions
from gatewall.publication.publisher import publish
from gatewall.snapshot.files import PolicyFiles
from gatewall.snapshot.folder_watch import FolderWatch
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.snapshot.manifest import Manifest
from gatewall.snapshot.notification import AgentLock, notify
from gatewall.snapshot.published import ManifestInForce
from gatewall.snapshot.worker_report import living_workers, workers_folder

logger = logging.getLogger(__name__)

_WAIT_SECONDS = 2.0
_LOOK_SECONDS = 0.02
"""How often to check what inotify does not report: whether the agent or a worker has died."""
_thread = threading.local()


@contextmanager
def published_by_caller() -> Iterator[None]:
    """Within the block, ``announce`` does not wait in this thread: the caller, the agent, publishes next."""
    _thread.publishes = True
    try:
        yield
    finally:
        _thread.publishes = False


def announce(version: Version) -> bool:
    """Return True once every data-plane worker of this host uses this version, False after two seconds.

    The agent publishes. Without a working agent, this process does, so that a revocation never waits for an operator.
    """
    files, run = policy_files(settings.CONFIG), run_folder(settings.CONFIG.home)
    if getattr(_thread, "publishes", False):
        notify(run)
        return False
    with closing(FolderWatch(files.folder, workers_folder(run))) as news:
        patience = _Deadline(news, time.monotonic() + _WAIT_SECONDS)
        notify(run)
        return _is_published_in_time(files, run, version, patience) and _is_loaded_in_time(run, version, patience)


class _Deadline:
    """Deadline for publication and loading, and the folder watch that ends a wait early."""

    def __init__(self, news: FolderWatch, deadline: float) -> None:
        self._news = news
        self._deadline = deadline

    def seconds_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def wait_for_change(self) -> bool:
        """Wait for a file change; False after the deadline."""
        seconds = self.seconds_left()
        if not seconds:
            return False
        self._news.wait(min(seconds, _LOOK_SECONDS))
        return True


def _is_published_in_time(files: PolicyFiles, run: Path, version: Version, patience: _Deadline) -> bool:
    in_force = ManifestInForce(files)
    while True:
        with AgentLock(run).held() as is_free:
            if is_free or AgentLock(run).is_stale():
                return _publish_here(files, patience.seconds_left())
        if _is_published(in_force, version):
            return True
        if not patience.wait_for_change():
            logger.warning("revision %d is committed and not published yet", version.revision)
            return False


def _is_loaded_in_time(run: Path, version: Version, patience: _Deadline) -> bool:
    """Return True once no living worker is behind. Workers that refuse the policy are not waited for."""
    while True:
        behind = [state for state in living_workers(workers_folder(run)) if not state.has(version)]
        if not behind:
            return True
        if all(state.rejected for state in behind) or not patience.wait_for_change():
            pids = ", ".join(str(state.pid) for state in behind)
            logger.warning("revision %d is published and not taken by worker %s yet", version.revision, pids)
            return False


def _publish_here(files: PolicyFiles, patience: float) -> bool:
    try:
        publish(files, over_newer_release=False, patience=patience)
    except (OSError, Error, ValueError) as error:
        logger.error("policy not published: %s", error)  # noqa: TRY400 - the message is enough
        return False
    return True


def _is_published(in_force: ManifestInForce, version: Version) -> bool:
    try:
        manifest: Manifest | None = in_force.manifest()  # of any release: agent and workers are upgraded one by one
    except OSError:
        return False
    if manifest is None or manifest.version.epoch != version.epoch or version.supersedes(manifest.version):
        return False
    # Before a restore of the database, the same numbers stood for other changes.
    return revisions.lineage_of(manifest.version) == manifest.lineage
