"""Liveness of a database server, shared by the threads of a process."""

import logging
import threading

import pytest

from gatewall.database.postgresql.pulse import Pulse

PATIENCE = 3.0


class Server:
    """A server that answers probes or not; a probe without an answer takes two seconds of the clock."""

    def __init__(self):
        self.now = 100.0
        self.answers = True
        self.questions = 0
        self.pulse = Pulse("db:5432", self.ask, PATIENCE, clock=lambda: self.now)

    def ask(self):
        self.questions += 1
        if not self.answers:
            self.now += 2
        return self.answers


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def silent(server):
    """Return a server that did not answer a probe a moment ago."""
    server.answers = False
    since, server.now = server.now, server.now + PATIENCE
    assert not server.pulse.is_alive(since)
    return server


def test_a_short_wait_starts_no_probe(server):
    assert server.pulse.is_alive(server.now - PATIENCE + 0.1)
    assert server.questions == 0


def test_a_long_wait_for_a_live_server_continues_after_a_probe(server):
    assert server.pulse.is_alive(server.now - 3600)
    assert server.questions == 1


def test_no_probe_starts_for_a_while_after_an_answer(server):
    since = server.now - 3600
    server.pulse.is_alive(since)
    server.now += PATIENCE - 0.1

    assert server.pulse.is_alive(since)
    assert server.questions == 1


def test_answers_to_other_threads_make_a_probe_unnecessary(server):
    since, server.now = server.now, server.now + PATIENCE
    server.pulse.heard()
    server.answers = False

    assert server.pulse.is_alive(since)
    assert server.questions == 0


def test_waiting_for_a_silent_server_is_given_up(server):
    server.answers = False

    assert not server.pulse.is_alive(server.now - PATIENCE)


def test_one_failed_probe_counts_for_every_earlier_wait(silent):
    assert not silent.pulse.is_alive(100.5)
    assert silent.questions == 1


def test_a_failed_probe_does_not_count_for_a_later_wait(silent):
    silent.answers = True

    assert silent.pulse.is_alive(silent.now)
    assert silent.questions == 2


def test_a_new_wait_for_a_silent_server_probes_at_once(silent):
    assert not silent.pulse.is_alive(silent.now)
    assert silent.questions == 2


def test_a_received_byte_makes_the_server_alive_again(silent):
    silent.pulse.heard()
    silent.now += 0.1

    assert silent.pulse.is_alive(silent.now)
    assert silent.pulse.may_connect()
    assert silent.questions == 1


def test_a_failure_is_ignored_if_an_answer_came_since_it_began(server):
    server.pulse.heard()

    server.pulse.failed(server.now - 1)

    assert server.pulse.may_connect()


def test_connecting_to_an_unknown_server_is_permitted(server):
    assert server.pulse.may_connect()
    assert server.questions == 0


def test_connecting_to_a_recently_silent_server_is_not_permitted(silent):
    silent.now += 0.9

    assert not silent.pulse.may_connect()
    assert silent.questions == 1


@pytest.mark.parametrize("answers", [True, False])
def test_a_probe_after_a_second_decides_about_connecting(silent, answers):
    silent.now += 1
    silent.answers = answers

    assert silent.pulse.may_connect() is answers
    assert silent.questions == 2


def test_connecting_does_not_wait_for_a_running_probe():
    asked, go_on, clock = threading.Event(), threading.Event(), iter(range(0, 1000, 10))

    def ask():
        asked.set()
        return go_on.wait(60)

    pulse = Pulse("db:5432", ask, PATIENCE, clock=lambda: next(clock))
    pulse.failed(-10.0)
    found = []
    first = threading.Thread(target=lambda: found.append(pulse.is_alive(0.0)))
    first.start()
    asked.wait(60)

    assert not pulse.may_connect()

    go_on.set()
    first.join(60)
    assert found == [True]


def test_silence_and_its_end_are_logged_once(server, caplog):
    caplog.set_level(logging.INFO)
    server.answers = False
    for _ in range(3):
        server.now += PATIENCE
        server.pulse.is_alive(server.now - PATIENCE)
    for _ in range(3):
        server.pulse.heard()

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("ERROR", "PostgreSQL at db:5432 does not answer; its connections are closed"),
        ("INFO", "PostgreSQL at db:5432 answers again"),
    ]
