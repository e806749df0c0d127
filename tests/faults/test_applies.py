"""Applies on running processes: killed at any moment, at once, watched for whom they refuse, and without an agent."""

import http.client
import json
import os
import random
import signal
import subprocess
import threading
import time
import urllib.error
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import psutil
import pytest

from gatewall.install.launcher import free_port
from tests.postgres import server
from tests.support.processes import (
    BASE,
    agent,
    control_plane,
    data_plane,
    environment,
    manager,
    prepare,
    request,
    send,
    set_up,
    wait_until,
)
from tests.support.servers import OFFICE, Admin, Verdict, about, ask, tell

ONE, TWO = "one", "two"
BLOCKED = {ONE: "203.0.113.1", TWO: "203.0.113.2"}
WALL, OPEN, SHUT = Verdict(403, "client-blocked"), Verdict(200, "host-public"), Verdict(403, "host-not-authorized")
RIGHT = {ONE: {BLOCKED[ONE]: WALL, BLOCKED[TWO]: OPEN}, TWO: {BLOCKED[ONE]: SHUT, BLOCKED[TWO]: WALL}}
"""Answers by the address of the client. One that mixes the policies lets the first in or shuts the second out."""
UNSENT = (OSError, http.client.HTTPException)


def document(access: str, country: str, networks: str, *more: str, count: int = 400) -> str:
    blocked = [*more, *(f"{networks}.{number // 250}.{number % 250}" for number in range(count))]
    listed = "".join(f"- ip: {network}\n" for network in blocked)
    domain = f"- name: {OFFICE}\n  access: {access}\n"
    return f"version: 1\ndomains:\n{domain}blocklist:\n{listed}countries:\n- country_code: {country}\n"


DOCUMENTS = {
    ONE: document("public", "NZ", "10.1", BLOCKED[ONE]),
    TWO: document("denied", "AQ", "10.2", BLOCKED[TWO]),
}


class Site:
    """A control plane with two workers and a data plane."""

    def __init__(self, home: Path, control: int, auth: int, master: int) -> None:
        self.home, self._control, self.auth, self._master = home, control, auth, master
        self.admin = Admin(control)
        self._exported: dict[str, str] = {}

    def post(self, path: str, **fields: Any) -> tuple[int, dict[str, Any]]:
        """Return status and object of an answer of the API. Raises one of UNSENT."""
        try:
            return 200, send(self._control, self.admin.token, "POST", path, fields)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def revision(self) -> int:
        return int(self.post("/policy/document/compare", document="version: 1")[1]["revision"])

    def apply(self, text: str, **conditions: Any) -> int:
        """Apply a document to the policy as it is; return the number of its revision."""
        status, body = self.post("/policy/apply", document=text, if_revision=self.revision(), **conditions)
        assert status == 200, body
        return int(body["revision"])

    def export(self) -> str:
        headers = {"Service-Authorization": self.admin.token}
        return request(self._control, "/wall/policy/document", headers).body.decode()

    def learn(self) -> None:
        """Apply both documents once, and remember what is exported then."""
        for name in (ONE, TWO):
            self.apply(DOCUMENTS[name])
            self._exported[name] = self.export()

    def in_force(self) -> str:
        """Return which of the documents the database has, to the last byte; asks until the control plane answers."""
        found = []

        def has_answered() -> bool:
            with suppress(*UNSENT):
                found.append(self.export())
            return bool(found)

        wait_until(has_answered, what="the control plane")
        names = [name for name, text in self._exported.items() if text == found[0]]
        assert names, found[0]
        return names[0]

    def answers(self) -> dict[str, Verdict]:
        return {client: ask(self.auth, about(client=client)) for client in BLOCKED.values()}

    def workers(self) -> list[int]:
        return [child.pid for child in psutil.Process(self._master).children()]


@contextmanager
def servers(home: Path, **changes: str):
    control, auth = free_port(), free_port()
    with (
        control_plane(home, control, **changes) as master,
        data_plane(home, auth, GATEWALL_WORKERS="1", **changes),
    ):
        yield Site(home, control, auth, master.pid)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A site on SQLite, whose agent a test may end and start again."""
    home = tmp_path_factory.mktemp("home")
    prepare(home)
    with ExitStack() as running:
        first = running.enter_context(agent(home))
        site = running.enter_context(servers(home))
        yield site, first, running


@pytest.fixture(scope="module")
def site(own):
    return own[0]


class Attempt(NamedTuple):
    """An apply under way: how to kill it, and how to wait for its end, which says whether it was told to be done."""

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
    command = manager("policy", "apply", str(file))
    process = subprocess.Popen(
        command, cwd=BASE, env=environment(site.home), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    return Attempt(process.kill, lambda: process.wait() == 0)


class Visitors:
    """Ask the data plane all the time; ``seen`` are the different answers to each client."""

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
    """Apply the other document, and kill what applies it after so many seconds.

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
@pytest.mark.parametrize("kills", [3, pytest.param(25, marks=pytest.mark.full)])
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
def test_of_applies_at_once_one_wins(request, where, named_by):
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
