"""Applies on running processes: killed at any moment, and several at once."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import pytest

from tests.postgres import server
from tests.support import command_server
from tests.support.form import by_form
from tests.support.policy_site import DOCUMENTS, ONE, RIGHT, TWO, UNSENT, Site, document, servers
from tests.support.processes import agent, environment, prepare, set_up, wait_until
from tests.support.servers import Verdict, tell


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    prepare(home)
    with agent(home), servers(home) as site:
        yield site


class Attempt(NamedTuple):
    """An apply under way: how to kill it, and how to wait for its end, which gives whether it reported success."""

    kill: Callable[[], None]
    ended: Callable[[], bool]


def over_the_api(site: Site, name: str) -> Attempt:
    told = []

    def apply() -> None:
        with suppress(*UNSENT):
            site.apply(DOCUMENTS[name])
            told.append(name)

    workers, thread = site.workers(), threading.Thread(target=apply)
    thread.start()

    def kill() -> None:
        for worker in workers:
            os.kill(worker, signal.SIGKILL)

    def ended() -> bool:
        thread.join()
        return bool(told)

    return Attempt(kill, ended)


def by_the_command(site: Site, name: str) -> Attempt:
    file = site.home / "policy.yaml"
    file.write_text(DOCUMENTS[name])
    with Path(os.devnull).open("wb") as nowhere:
        process = command_server.start(["policy", "apply", str(file)], env=environment(site.home), output=nowhere)
    return Attempt(process.kill, lambda: process.wait() == 0)


class Visitors:
    """Ask the data plane continuously; ``seen`` has the distinct answers to each client."""

    def __init__(self, site: Site) -> None:
        self._site, self._stop = site, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.seen: set[tuple[str, Verdict]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.02):
            self.seen.update(self._site.answers().items())


def end_of(site: Site, start: Callable[[Site, str], Attempt], kill_after: float | None) -> tuple[bool, float]:
    """Apply the other document, and kill the applying process after this many seconds.

    Return whether the new policy is in force, and how long the apply took.
    """
    old, before, began = site.in_force(), site.revision(), time.monotonic()
    new = TWO if old == ONE else ONE
    attempt = start(site, new)
    if kill_after is not None:
        time.sleep(kill_after)
        attempt.kill()
    was_told, took = attempt.ended(), time.monotonic() - began
    found = site.in_force()
    assert found == new or not was_told
    assert site.revision() == before + (found == new)
    wait_until(lambda: site.answers() == RIGHT[found], what="the data plane")
    return found == new, took


@pytest.mark.parametrize("start", [over_the_api, by_the_command])
@pytest.mark.parametrize("kills", [by_form(full=25, default=2)])
def test_a_killed_apply_leaves_the_old_policy_or_the_new_one(site, pytestconfig, start, kills):
    site.learn()
    chance = random.Random(23)  # noqa: S311 - the same moments in each run
    with Visitors(site) as visitors:
        is_new, took = end_of(site, start, None)
        ends = [end_of(site, start, chance.uniform(0.1, 1.8) * took)[0] for _ in range(kills)]

    tell(pytestconfig, f"{kills} kills of an apply of {took:.2f} s: {ends.count(False)} left the old policy")
    assert is_new
    assert kills < 20 or set(ends) == {False, True}
    assert visitors.seen <= {(client, verdict) for each in RIGHT.values() for client, verdict in each.items()}


@pytest.fixture(scope="module")
def on_postgresql(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    with server() as running:
        set_up(home, DATABASE_URL=running.url)
        with agent(home, DATABASE_URL=running.url), servers(home, DATABASE_URL=running.url) as site:
            yield site


@pytest.mark.parametrize("where", ["site", pytest.param("on_postgresql", marks=pytest.mark.full)])
@pytest.mark.parametrize("named_by", ["if_revision", "digest"])
def test_one_of_four_simultaneous_applies_wins(request, where, named_by):
    site: Site = request.getfixturevalue(where)
    for turn in range(3):
        wanted = [document("denied", "DE", f"10.{turn + 1}{number}", count=20) for number in range(4)]
        before = site.revision()
        bodies = [{"document": text, "if_revision": before} for text in wanted]
        if named_by == "digest":
            status, plan = site.post("/policy/plan", document=wanted[0])
            assert status == 200, plan
            bodies = [{"digest": plan["digest"]}] * 4
        barrier = threading.Barrier(4)

        def apply(body, barrier=barrier):
            barrier.wait()
            return site.post("/policy/apply", **body)

        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(apply, bodies))

        statuses = [status for status, _ in answers]
        assert sorted(statuses) == [200, 412, 412, 412], answers
        assert {body["code"] for status, body in answers if status == 412} == {"stale"}
        winner = statuses.index(200)
        assert answers[winner][1]["revision"] == before + 1 == site.revision()
        text = wanted[0 if named_by == "digest" else winner]
        assert site.post("/policy/document/compare", document=text)[1]["changes"] == []
