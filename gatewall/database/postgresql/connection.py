"""psycopg connections that time out when the server hangs."""

import os
import time
from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any, NoReturn, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_attempts
from psycopg.errors import ConnectionTimeout, ReadOnlySqlTransaction
from psycopg.waiting import Ready, Wait

from gatewall.database.postgresql.pulse import Pulse

Result = TypeVar("Result")

_LOOK_SECONDS = 0.1
_MIN_PROBE_SECONDS = 2.0
"""Minimum ``connect_timeout`` of libpq and psycopg."""
_NOT_FOR_PROBES = {"cursor_factory", "context", "prepare_threshold", "target_session_attrs"}
_pulses: dict[tuple[str, str, str], Pulse] = {}

# psycopg parses times in this style only. libpq sends it on connecting, so it overrides the style of the server, the
# database and the role, costs no statement, and a pooler keeps it per client.
os.environ["PGDATESTYLE"] = "ISO"


class WatchedConnection(psycopg.Connection[Any]):
    """Connection whose waits raise OperationalError when the server hangs."""

    pulse: Pulse | None = None

    def wait(self, gen: PQGen[Result], interval: float = _LOOK_SECONDS, timeout: float | None = None) -> Result:
        """Wait as psycopg does, as long as the server is alive; psycopg calls this for every wait."""
        return super().wait(self._watched(gen, self.pulse) if self.pulse else gen, interval, timeout)

    def _watched(self, gen: PQGen[Result], pulse: Pulse) -> Generator[Wait, Ready | int, Result]:
        """Wrap psycopg's generator to check the server whenever the interval passes without I/O."""
        try:
            wanted = next(gen)
            since = time.monotonic()
            while True:
                ready = yield wanted
                if ready:
                    since = time.monotonic()
                    if ready & Ready.R:
                        pulse.heard()
                elif not pulse.is_alive(since):
                    self._give_up(gen, "the server does not answer")
                wanted = gen.send(ready)
        except StopIteration as end:
            result: Result = end.value
            return result
        except ReadOnlySqlTransaction:
            # A standby, for example: an outage for writers. Another connection may reach the primary.
            self._give_up(gen, "the server is read-only")

    def _give_up(self, gen: PQGen[Result], why: str) -> NoReturn:
        gen.close()
        self.pgconn.finish()
        raise psycopg.OperationalError(why) from None


class _Probe(psycopg.Connection[Any]):
    """Probe connection with a bounded wait for each response."""

    longest: float = _MIN_PROBE_SECONDS

    def wait(self, gen: PQGen[Result], interval: float = _LOOK_SECONDS, timeout: float | None = None) -> Result:
        return super().wait(gen, interval, self.longest)


def connect(params: Mapping[str, Any], patience: float) -> WatchedConnection:
    """Connect to the first server of the parameters that responds; skip a server known to be silent."""
    problem: psycopg.Error | None = None
    for attempt in conninfo_attempts(dict(params)):
        pulse = _pulse_of(attempt, patience)
        try:
            return _connect_once(attempt, pulse)
        except psycopg.OperationalError as error:
            problem = error  # report the last one, as libpq does
    raise problem or psycopg.OperationalError("there is no server to connect to")


def _connect_once(attempt: Mapping[str, Any], pulse: Pulse) -> WatchedConnection:
    if not pulse.may_connect():
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
    """Return the liveness of one address: servers behind one name are tracked separately."""
    host, address, port = (str(attempt.get(name) or "") for name in ("host", "hostaddr", "port"))
    key = host, address, port
    if key not in _pulses:
        probe = {name: value for name, value in attempt.items() if name not in _NOT_FOR_PROBES}
        _pulses.setdefault(key, Pulse(f"{host}:{port}", lambda: _answers(probe, patience), patience))
    return _pulses[key]


def _answers(params: Mapping[str, Any], patience: float) -> bool:
    """True if the server or its kernel responds in time; a refused connection is a response too.

    When connections are refused, waits on older ones end anyway, by a reset or keepalives.
    """
    seconds = max(_MIN_PROBE_SECONDS, patience)
    began = time.monotonic()
    try:
        with closing(_Probe.connect(**{**params, "connect_timeout": int(seconds)}, autocommit=True)) as probe:
            probe.longest = seconds
            probe.execute("SELECT 1")
    except psycopg.Error:
        return time.monotonic() - began < seconds
    return True
