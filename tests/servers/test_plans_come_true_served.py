"""Plans predict the answers of running servers: two data plane workers, an agent that ships, replays and publishes.

The requests and changes are those of ``tests/integration/test_plans_come_true.py``. Senders with connections that are
kept alive ask the data plane over HTTP; each change is planned, applied and in force before all is asked again.
"""

import random
import sqlite3
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from multiprocessing import get_context
from types import SimpleNamespace

import pytest

from bench import traffic
from gatewall.install.ports import free_port
from tests.integration.test_plans_come_true import CHANGES, DOMAINS, PEOPLE, answer, is_top, said, what_happened
from tests.servers.keep_alive import Asked, ask_all
from tests.support.policy_site import Site
from tests.support.processes import PASSWORD, agent, control_plane, data_plane, prepare, wait_until
from tests.support.servers import tell

OUTCOMES = {200: "allow", 401: "challenge", 403: "deny"}
SENDERS = 4


class Week:
    """The requests, and the running site that answers and records them."""

    def __init__(self, site: Site, senders: ProcessPoolExecutor, number: int) -> None:
        chance = random.Random(23)  # noqa: S311 - examples, no secrets
        self.site, self._senders = site, senders
        self._sent = self.rows()
        tokens = [site.sign_in(f"person{each}") for each in range(PEOPLE)]
        self._places = [(f"app{traffic.favourite(8, chance)}.example.com", _target(chance)) for _ in range(number)]
        self._requests = [_request(place, tokens, chance) for place in self._places]

    def send(self, number: int | None = None) -> list[Asked]:
        """Send the first requests, or all; return the answers in that order once all of them are in the log."""
        requests = self._requests[:number]
        shares = [requests[first::SENDERS] for first in range(SENDERS)]
        answers = list(self._senders.map(ask_all, [self.site.auth] * SENDERS, shares))
        self._sent += len(requests)
        wait_until(lambda: self.rows() == self._sent, seconds=1800, what="the log")
        return [answers[place % SENDERS][place // SENDERS] for place in range(len(requests))]

    def recorded(self, answers: list[Asked]) -> list[SimpleNamespace]:
        """Return the rows of the log of answered requests."""
        names = ("subject_kind", "subject_id", "client_ip", "host", "path", "outcome", "reason")
        rows = {
            row[0]: dict(zip(names, row[1:], strict=True)) for row in self.select(", ".join(("decision_id", *names)))
        }
        found = [rows[each.decision_id.replace("-", "")] for each in answers]
        return [SimpleNamespace(**each, subject=_subject_of(each)) for each in found]

    def rows(self) -> int:
        return self.select("coalesce(max(rowid), 0)")[0][0]

    def decided_under(self, revision: int) -> int:
        """Return the number of requests that were decided under a revision."""
        return self.select("count(*)", f"WHERE policy_revision = {revision:d}")[0][0]

    def is_in_force(self, revision: int) -> bool:
        """Send requests over new connections; return whether all were decided under this revision."""
        before = self.decided_under(revision)
        return len(self.send(64)) == self.decided_under(revision) - before

    def select(self, what: str, where: str = "") -> list:
        with closing(sqlite3.connect(self.site.home / "gatewall.sqlite3", timeout=60)) as database:
            return database.execute(f"SELECT {what} FROM audit_accesslog {where}").fetchall()  # noqa: S608 - texts of ours


def _subject_of(row: dict) -> dict | None:
    return row["subject_kind"] and {"kind": row["subject_kind"], "id": row["subject_id"]}


def _target(chance: random.Random) -> str:
    return chance.choice(traffic.ATTACKS) if chance.random() < 0.03 else traffic.page(chance)


def _request(place: tuple[str, str], tokens: list[str], chance: random.Random) -> bytes:
    host, target = place
    lines = [
        "GET /wall/auth HTTP/1.1",
        "Host: gate",
        f"X-Forwarded-For: {traffic.client(chance)}",
        f"X-Forwarded-Host: {host}",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Method: GET",
        f"X-Forwarded-Uri: {target}",
    ]
    if chance.random() < 0.85:
        lines.append(f"Service-Authorization: {chance.choice(tokens)}")
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.fixture
def week(tmp_path, request):
    prepare(tmp_path)
    control, auth = free_port(), free_port()
    with ExitStack() as running:
        senders = running.enter_context(ProcessPoolExecutor(SENDERS, get_context("spawn")))
        running.enter_context(agent(tmp_path))
        master = running.enter_context(control_plane(tmp_path, control, GATEWALL_WORKERS="1"))
        running.enter_context(data_plane(tmp_path, auth, GATEWALL_WORKERS="2"))
        site = Site(tmp_path, control, auth, master.pid)
        for name in DOMAINS:
            site.admin.post("/authorized-domains", name=name, access="authenticated")
        settings = {"authorized_domains_mode": "any", "auto_ban_mode": "off"}  # a ban would be another change
        site.admin.put("/system/settings", **settings)
        site.admin.post("/groups", name="staff")
        for number in range(PEOPLE):
            groups = ["staff"] if number % 3 == 0 else []
            site.admin.post("/users", username=f"person{number}", password=PASSWORD, all_domains=True, groups=groups)
        yield Week(site, senders, request.param)


@pytest.mark.full
@pytest.mark.parametrize("week", [20_000], indirect=True)
def test_ten_plans_predict_the_answers_of_two_workers(week, pytestconfig):
    site, began = week.site, datetime.now(UTC)
    base = site.revision()
    wait_until(lambda: week.is_in_force(base), what="the policy")
    began = datetime.now(UTC)
    first = week.send()
    recorded = week.recorded(first)
    assert [(OUTCOMES[each.status], each.reason) for each in first] == [
        (each.outcome, each.reason) for each in recorded
    ]
    window = {"start_time": began.isoformat(), "end_time": datetime.now(UTC).isoformat()}

    for name, proposal in CHANGES.items():
        replay, digest = planned(site, {**proposal, **window})
        status, applied = site.post("/policy/apply", digest=digest)
        assert status == 200, (name, applied)
        wait_until(lambda revision=applied["revision"]: week.is_in_force(revision), what="the change")
        before = week.decided_under(applied["revision"])
        pairs = list(zip(recorded, map(as_answer, week.send()), strict=True))
        assert week.decided_under(applied["revision"]) - before == len(pairs), name

        assert (replay["rows"], replay["undecidable"]["total"]) == (len(pairs), 0), name
        assert replay["changed"] == sum(answer(old) != answer(new) for old, new in pairs) > 0, name
        for kind, happened in what_happened(pairs).items():
            assert is_top(said(replay[kind]), happened), (name, kind)
            assert len(replay[kind]) + replay["unlisted"][kind] == len(happened), (name, kind)
        people = len(replay["people"]) + replay["unlisted"]["people"]
        tell(
            pytestconfig,
            f"{name}: {replay['changed']:,} of {len(pairs):,} answers, {people:,} rows of people, "
            f"replayed in {replay['seconds']} s",
        )
        assert site.post(f"/policy/revisions/{base}/restore")[0] == 200, name


def as_answer(asked: Asked) -> SimpleNamespace:
    return SimpleNamespace(outcome=OUTCOMES[asked.status], reason=asked.reason)


def planned(site: Site, body: dict) -> tuple[dict, str]:
    """Return the replay of a plan, and its digest."""
    status, plan = site.post("/policy/plan", **body)
    assert status == 200, plan

    def is_done() -> bool:
        time.sleep(0.5)
        return site.admin.get(f"/policy/plan/{plan['id']}")["state"] not in {"queued", "running"}

    wait_until(is_done, seconds=600, what="the replay")
    return site.admin.get(f"/policy/plan/{plan['id']}")["replay"], plan["digest"]
