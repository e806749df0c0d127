"""Hosts whose access log is compared with the answers of their visitors, for the short form of tests.kill_test."""

import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kill_test import nemesis, report
from tests.kill_test.account import StoredLog, account_of
from tests.kill_test.disk import NoMount, SmallDisk, small_disk
from tests.kill_test.faults import Scene
from tests.kill_test.stage import Stage
from tests.kill_test.visitors import Ledger, Visitors
from tests.postgres import Server
from tests.support.servers import furnish, right_answers

_RATE = 60
_NOT_RUN = "NOT RUN: faults of the disk, because nothing can be mounted here"


@contextmanager
def a_scene(
    home: Path, token: str = "", *, disk: SmallDisk | None = None, server: Server | None = None, **changes: str
) -> Iterator[Scene]:
    """Start both planes and the agent on a state folder, furnished unless a token is given, without visitors yet."""
    if server:
        changes["DATABASE_URL"] = server.url
    with Stage(home, inside=disk.inside if disk else (), **changes) as stage:
        stage.start("auth", "control", "agent")
        right = right_answers(token or furnish(stage.control))
        stored_log = StoredLog(home, disk.seen if disk else home / "spool", server.url if server else "")
        visitors = Visitors(Ledger(), [stage.auth] * 4 + [stage.control] * 2, right, rate=_RATE)
        choice = random.Random(6)  # noqa: S311 - a seed
        yield Scene(stage, stored_log, visitors, choice, disk, server, longest_outage=2)


def wrong_after(scene: Scene, *faults: nemesis.Fault) -> list[str]:
    """Inject these faults under load; return what is wrong with the access log afterwards."""
    with scene.visitors as visitors:
        for fault in faults:
            nemesis.do(scene, fault)
    scene.stored_log.settle()
    return report.failures(account_of(visitors.ledger, scene.stored_log), visitors.ledger)


@contextmanager
def a_disk(folder: Path, environment: Mapping[str, str] = os.environ, size: str = "8m") -> Iterator[SmallDisk]:
    """Mount a small disk on a folder. Where that is impossible, skip as NOT RUN, or fail on a build server."""
    try:
        with small_disk(folder, size) as disk:
            yield disk
    except NoMount as why:
        if environment.get("CI") == "true":
            pytest.fail(f"{_NOT_RUN} ({why})")
        pytest.skip(f"{_NOT_RUN} ({why})")
