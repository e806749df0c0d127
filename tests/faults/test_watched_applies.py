"""Applies with conditions on running processes: with a refusal watch, and with a confirmation without an agent."""

import sqlite3
import time
from contextlib import ExitStack, closing

import pytest

from tests.support.policy_site import DOCUMENTS, ONE, RIGHT, TWO, Site, servers
from tests.support.processes import PASSWORD, agent, no_agent_leads, prepare, stop, wait_until
from tests.support.servers import OFFICE, SESSION_VALID, Verdict, about, ask

OPEN_TO_ALL = f"version: 1\ndomains:\n- name: {OFFICE}\nblocklist: []\naccess_rules: []\n"


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Return a site on SQLite, whose agent a test may end and start again."""
    home = tmp_path_factory.mktemp("home")
    prepare(home)
    with ExitStack() as running:
        first = running.enter_context(agent(home))
        site = running.enter_context(servers(home))
        yield site, first, running


@pytest.fixture(scope="module")
def site(own):
    return own[0]


def document_for(person: str) -> str:
    """Return a document that lets every user into the site except this one."""
    rule = f"- name: closed\n  access: denied\n  domains: [{OFFICE}]\n  users: [{person}]\n"
    return f"version: 1\ndomains:\n- name: {OFFICE}\nblocklist: []\naccess_rules:\n{rule}"


@pytest.fixture(scope="module")
def people(site):
    """Return the session tokens of two users."""
    for name in ("bob", "zoe"):
        site.admin.post("/users", username=name, password=PASSWORD, all_domains=True)
    return {name: site.sign_in(name) for name in ("bob", "zoe")}


def watch_of(site: Site, number: int) -> tuple[str, str, str]:
    """Return how the watch of a change ended, when that was, and until when it ran."""
    with closing(sqlite3.connect(site.home / "gatewall.sqlite3")) as database:
        asked = "SELECT outcome, settled_at, until FROM gatewall_refusalwatch WHERE revision = ?"
        return database.execute(asked, [number]).fetchone()


def let_time_pass(site: Site, number: int) -> None:
    """Move the watch of a change back, as if its minutes and the wait for late records were over."""
    with closing(sqlite3.connect(site.home / "gatewall.sqlite3", timeout=60)) as database, database:
        moved = "made_at = datetime(made_at, '-5 minutes'), until = datetime(until, '-5 minutes')"
        database.execute(f"UPDATE gatewall_refusalwatch SET {moved} WHERE revision = ?", [number])  # noqa: S608 - no text of others


@pytest.mark.parametrize("clock", ["moved", pytest.param("real", marks=pytest.mark.full)])
def test_real_traffic_reverts_a_bad_apply_and_leaves_a_good_one_alone(site, people, clock):
    def asks(name: str) -> Verdict:
        return ask(site.auth, about(Service_Authorization=people[name], User_Agent=name))

    def has_visited(name: str) -> bool:
        seen = site.admin.get(f"/access-logs?subject_name={name}&outcome=allow")["results"]
        return asks(name) == SESSION_VALID and bool(seen)

    site.apply(OPEN_TO_ALL)
    wait_until(lambda: all(map(has_visited, people)), what="the log of who was let in")
    good = site.apply(document_for("admin"), undo_if_refused={"people": 0, "minutes": 1}, force=True)
    assert [asks(name) for name in people] == [SESSION_VALID] * 2
    if clock == "moved":
        let_time_pass(site, good)
    wait_until(lambda: watch_of(site, good)[0], what="the end of the watch")
    assert watch_of(site, good)[0] == "kept"
    assert site.post("/policy/document/compare", document=document_for("admin"))[1]["changes"] == []

    bad = site.apply(document_for("bob"), undo_if_refused={"people": 0, "minutes": 10})
    wait_until(lambda: asks("bob") == (403, "access-denied"), what="the refusal")
    assert asks("zoe") == SESSION_VALID
    wait_until(lambda: asks("bob") == SESSION_VALID, what="the revert")

    outcome, settled_at, until = watch_of(site, bad)
    assert outcome == "reverted"
    assert settled_at < until
    assert site.revision() == bad + 1
    assert site.post("/policy/document/compare", document=document_for("admin"))[1]["changes"] == []
    events = site.admin.get("/security-events?kind=policy.reverted")["results"]
    assert (events[0]["detail"]["revision"], events[0]["detail"]["number"]) == (bad, 1)


def test_without_an_agent_a_change_is_confirmed_and_another_is_reverted_by_the_next_agent(own):
    site, first, running = own
    site.apply(DOCUMENTS[ONE])
    stop(first)
    assert no_agent_leads(site.home)

    kept = site.apply(DOCUMENTS[TWO], confirm_within_seconds=600)
    assert site.post(f"/policy/revisions/{kept}/confirm")[0] == 200
    status, problem = site.post(f"/policy/revisions/{kept}/confirm")
    assert (status, problem["code"]) == (409, "nothing-to-confirm")
    unconfirmed = site.apply(DOCUMENTS[ONE], confirm_within_seconds=5)
    time.sleep(6)  # longer than its five seconds: without an agent it is not reverted
    wait_until(lambda: site.answers() == RIGHT[ONE], what="the data plane")
    assert site.revision() == unconfirmed

    running.enter_context(agent(site.home))

    wait_until(lambda: site.answers() == RIGHT[TWO], what="the revert")
    assert site.revision() == unconfirmed + 1
    assert site.post("/policy/document/compare", document=DOCUMENTS[TWO])[1]["changes"] == []
    status, problem = site.post(f"/policy/revisions/{unconfirmed}/confirm")
    assert (status, problem["code"]) == (409, "nothing-to-confirm")
