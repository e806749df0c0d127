"""psycopg connections that time out when the server hangs."""

import time
from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_attempts
from psycopg.errors import ConnectionTimeout
from psycopg.waiting import Ready, Wait

from gatewall.database.postgresql.pulse import Pulse

Result = TypeVar("Result")

_LOOK_SECONDS = 0.1
_LEAST_QUESTION_SECONDS = 2.0
"""libpq and psycopg know no shorter ``connect_timeout``."""
_NOT_ASKED_WITH = {"cursor_factory", "context", "prepare_threshold", "target_session_attrs"}
_pulses: dict[tuple[str, str, str], Pulse] = {}


class WatchedConnection(psycopg.Connection[Any]):
    """A connection whose waits end with OperationalError when its server is found to be silent."""

    pulse: Pulse | None = None

    def wait(self, gen: PQGen[Result], interval: float = _LOOK_SECONDS, timeout: float | None = None) -> Result:
        """Wait as psycopg does, for as long as the server lives; everything that psycopg waits for passes here."""
        return super().wait(self._watched(gen, self.pulse) if self.pulse else gen, interval, timeout)

    def _watched(self, gen: PQGen[Result], pulse: Pulse) -> Generator[Wait, Ready | int, Result]:
        """Pass on what psycopg says to the generator: nothing is ready each time that the interval has passed."""
        try:
            wanted = next(gen)
            since = time.monotonic()
            while True:
                ready = yield wanted
                if ready:
                    since = time.monotonic()
                    if ready & Ready.R:
                        pulse.heard()
                elif not pulse.beats(since):
                    self._give_up(gen)
                wanted = gen.send(ready)
        except StopIteration as end:
            result: Result = end.value
            return result

    def _give_up(self, gen: PQGen[Result]) -> None:
        gen.close()
        self.pgconn.finish()
        raise psycopg.OperationalError("the server does not answer")


class _Question(psycopg.Connection[Any]):
    """A connection that waits for each answer for a bounded time."""

    longest: float = _LEAST_QUESTION_SECONDS

    def wait(self, gen: PQGen[Result], interval: float = _LOOK_SECONDS, timeout: float | None = None) -> Result:
        return super().wait(gen, interval, self.longest)


def connect(params: Mapping[str, Any], patience: float) -> WatchedConnection:
    """Connect to the first server that answers, of all that the parameters name; one known as silent is passed over."""
    problem: psycopg.Error | None = None
    for attempt in conninfo_attempts(dict(params)):
        pulse = _pulse_of(attempt, patience)
        try:
            return _connect_once(attempt, pulse)
        except psycopg.OperationalError as error:
            problem = error  # the last one is told, as libpq's own last words
    raise problem or psycopg.OperationalError("there is no server to connect to")


def _connect_once(attempt: Mapping[str, Any], pulse: Pulse) -> WatchedConnection:
    if not pulse.lets_in():
        raise psycopg.OperationalError("the server did not answer a moment ago")
    began = time.monotonic()
    try:
        connection = WatchedConnection.connect(**attempt)
    except ConnectionTimeout:
        pulse.failed(began)
        raise
    pulse.heard()
    connection.pulse = pulse
    return connection


def _pulse_of(attempt: Mapping[str, Any], patience: float) -> Pulse:
    """Return the pulse of one address: where a name has several, or gets another one, each server has its own."""
    host, address, port = (str(attempt.get(name) or "") for name in ("host", "hostaddr", "port"))
    key = host, address, port
    if key not in _pulses:
        question = {name: value for name, value in attempt.items() if name not in _NOT_ASKED_WITH}
        _pulses.setdefault(key, Pulse(f"{host}:{port}", lambda: _answers(question, patience), patience))
    return _pulses[key]


def _answers(params: Mapping[str, Any], patience: float) -> bool:
    """Return whether the server, or at least its kernel, says anything within the time: a refusal is an answer too.

    Where a connection is refused, what waits on an older one ends by itself: it is reset, or keepalives miss the host.
    """
    seconds = max(_LEAST_QUESTION_SECONDS, patience)
    began = time.monotonic()
    try:
        with closing(_Question.connect(**{**params, "connect_timeout": int(seconds)}, autocommit=True)) as question:
            question.longest = seconds
            question.execute("SELECT 1")
    except psycopg.Error:
        return time.monotonic() - began < seconds
    return True
