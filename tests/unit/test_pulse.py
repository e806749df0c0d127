"""Whether a server answers, as far as the threads of a process have seen."""

import logging
import threading

import pytest

from gatewall.database.postgresql.pulse import Pulse

PATIENCE = 3.0


class Server:
    """Answers questions or not, each of which takes two seconds of the clock when it does not."""

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
    """A server that was asked in vain a moment ago."""
    server.answers = False
    since, server.now = server.now, server.now + PATIENCE
    assert not server.pulse.is_alive(since)
    return server


def test_who_waits_for_a_short_time_asks_nothing(server):
    assert server.pulse.is_alive(server.now - PATIENCE + 0.1)
    assert server.questions == 0


def test_who_waits_long_for_a_server_that_lives_goes_on(server):
    assert server.pulse.is_alive(server.now - 3600)
    assert server.questions == 1


def test_after_an_answer_nothing_is_asked_for_a_while(server):
    since = server.now - 3600
    server.pulse.is_alive(since)
    server.now += PATIENCE - 0.1

    assert server.pulse.is_alive(since)
    assert server.questions == 1


def test_what_others_hear_saves_the_question(server):
    since, server.now = server.now, server.now + PATIENCE
    server.pulse.heard()
    server.answers = False

    assert server.pulse.is_alive(since)
    assert server.questions == 0


def test_who_waits_for_a_server_that_answers_nobody_is_told_to_stop(server):
    server.answers = False

    assert not server.pulse.is_alive(server.now - PATIENCE)


def test_one_question_tells_all_who_waited_before_it(silent):
    assert not silent.pulse.is_alive(100.5)
    assert silent.questions == 1


def test_who_began_to_wait_after_the_question_is_not_given_up_for_it(silent):
    silent.answers = True

    assert silent.pulse.is_alive(silent.now)
    assert silent.questions == 2


def test_who_begins_to_wait_for_a_silent_server_has_no_patience(silent):
    assert not silent.pulse.is_alive(silent.now)
    assert silent.questions == 2


def test_a_byte_ends_the_silence(silent):
    silent.pulse.heard()
    silent.now += 0.1

    assert silent.pulse.is_alive(silent.now)
    assert silent.pulse.may_connect()
    assert silent.questions == 1


def test_a_failure_is_none_if_somebody_was_answered_meanwhile(server):
    server.pulse.heard()

    server.pulse.failed(server.now - 1)

    assert server.pulse.may_connect()


def test_everybody_connects_to_a_server_of_which_nothing_is_known(server):
    assert server.pulse.may_connect()
    assert server.questions == 0


def test_nobody_connects_to_a_server_that_was_silent_a_moment_ago(silent):
    silent.now += 0.9

    assert not silent.pulse.may_connect()
    assert silent.questions == 1


@pytest.mark.parametrize("answers", [True, False])
def test_one_asks_after_a_second_whether_to_connect_again(silent, answers):
    silent.now += 1
    silent.answers = answers

    assert silent.pulse.may_connect() is answers
    assert silent.questions == 2


def test_nobody_waits_for_the_question_of_another_in_order_to_connect():
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


def test_silence_and_its_end_are_said_once(server, caplog):
    caplog.set_level(logging.INFO)
    server.answers = False
    for _ in range(3):
        server.now += PATIENCE
        server.pulse.is_alive(server.now - PATIENCE)
    for _ in range(3):
        server.pulse.heard()

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("ERROR", "PostgreSQL at db:5432 does not answer: its connections are given up"),
        ("INFO", "PostgreSQL at db:5432 answers again"),
    ]
