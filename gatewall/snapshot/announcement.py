"""After a commit: have the change published on this host before the writer is answered."""

import logging
import time

from django.conf import settings
from django.db import Error

from gatewall import revisions
from gatewall.engine.snapshot import Version
from gatewall.snapshot.files import PolicyFiles
from gatewall.snapshot.places import policy_files, run_folder
from gatewall.snapshot.publisher import publish
from gatewall.snapshot.wake import AgentLock, Bell

logger = logging.getLogger(__name__)

_WAIT_SECONDS = 2.0
_LOOK_SECONDS = 0.005


def announce(version: Version) -> bool:
    """Return True once this version or a later one is published on this host, False after two seconds.

    The agent publishes; while there is none, the writer does it himself, so that a revocation never
    waits for somebody to start it.
    """
    files, run = policy_files(settings.CONFIG), run_folder(settings.CONFIG.home)
    Bell(run).ring()
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        with AgentLock(run).held() as nobody_leads:
            if nobody_leads:
                return _publish_here(files)
        if _is_published(files, version):
            return True
        if time.monotonic() >= deadline:
            logger.warning("revision %d is committed and not published yet", version.revision)
            return False
        time.sleep(_LOOK_SECONDS)


def _publish_here(files: PolicyFiles) -> bool:
    try:
        publish(files, over_newer_release=False)
    except (OSError, Error, ValueError) as error:
        logger.error("policy not published: %s", error)  # noqa: TRY400 - the words say it all
        return False
    return True


def _is_published(files: PolicyFiles, version: Version) -> bool:
    try:
        manifest = files.in_force()  # of whichever release: agent and workers are replaced one after another
    except OSError:
        return False
    if manifest is None or manifest.version.epoch != version.epoch or version.supersedes(manifest.version):
        return False
    # Before a database was restored, the same numbers stood for other changes.
    return revisions.lineage_of(manifest.version) == manifest.lineage
