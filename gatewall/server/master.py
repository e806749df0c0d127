"""gunicorn master of both planes: start, replace and restart workers without a gap.

    start    if no worker has ever become ready, one that fails to start ends the command; later it is retried
    SIGHUP   start successors; stop the old workers when all of these are ready or, if only some are, after
             graceful_timeout. While none is ready the old workers serve
    SIGTERM  stop all workers, drained; SIGINT and SIGQUIT: at once, on the control plane after its threads are done

``gatewall data-plane`` and ``control-plane`` run it as ``python -m gatewall.server.master -c CONFIG APPLICATION``.
Workers are those of ``gatewall/server/answering.py``. Their number and the address are read at the start only.
"""

import os
import signal
import sys
import time
from operator import attrgetter
from pathlib import Path
from typing import Any

from gunicorn import sock
from gunicorn.app.wsgiapp import WSGIApplication
from gunicorn.arbiter import Arbiter
from gunicorn.errors import HaltServer

from gatewall.kernel import env
from gatewall.server.answering import ENDING

_RETRY_SECONDS = 1.0
_HALT_SECONDS = 3.0
"""If checks (about one a second) were this far apart, the whole machine was suspended."""
_BASE = Path(__file__).resolve().parents[2]


class Plane(WSGIApplication):  # type: ignore[misc] # gunicorn has no types
    """gunicorn as a command, with our master."""

    def load_config(self) -> None:
        super().load_config()
        if self.cfg.preload_app:
            # The thread that follows the policy would not survive the fork, and SIGHUP would not reload the code.
            print("gatewall: preload_app is not supported: remove it", file=sys.stderr)  # noqa: T201
            sys.exit(2)

    def run(self) -> None:
        Master(self).run()


class Master(Arbiter):  # type: ignore[misc] # gunicorn has no types
    """gunicorn master that keeps the configured number of workers."""

    LISTENERS: list[Any]

    def __init__(self, app: Plane) -> None:
        super().__init__(app)
        self._outlives_failures = False
        self._replaced_up_to = 0
        self._reloaded_at = 0.0
        self._next_start = 0.0
        self._checked_at = self._lenient_until = time.monotonic()

    def spawn_worker(self) -> Any:
        """Start a worker. A signal to end waits until the worker has its own handlers (``init_signals``).

        Python forgets a signal that arrives between the system call and the end of ``os.fork``: the worker would
        serve until the master kills it.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            return super().spawn_worker()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    def handle_hup(self) -> None:
        """Replace all workers, unless the new settings are invalid."""
        try:
            env.read(os.environ, _BASE)
        except env.ConfigError as error:
            self.log.error("not reloaded: %s", error)  # noqa: TRY400 - the message is enough
            return
        self.log.reopen_files()
        self._replaced_up_to = self.worker_age
        self._reloaded_at = time.monotonic()

    def handle_usr2(self) -> None:
        """Ignore SIGUSR2: a second master would die with this one's workers, and remove its socket."""
        self.log.warning("SIGUSR2 is ignored: restart to upgrade; SIGHUP replaces the workers")

    def manage_workers(self) -> None:
        """Start missing workers and stop surplus ones. Called about every second."""
        now = time.monotonic()
        workers = sorted(self.WORKERS.values(), key=attrgetter("age"))
        replaced = [each for each in workers if each.age <= self._replaced_up_to]
        current = workers[len(replaced) :]
        missing = self.num_workers - len(current)
        if missing > 0 and now >= self._next_start:
            self._next_start = now + _RETRY_SECONDS
            for _ in range(missing):
                self.spawn_worker()
        answering = sum(each.is_ready for each in current)
        is_late = now > self._reloaded_at + self.cfg.graceful_timeout
        can_stop = answering >= self.num_workers or (answering > 0 and is_late)
        leaving = [each for each in replaced if can_stop or not each.is_ready]
        for each in leaving + current[: max(0, -missing)]:
            self.kill_worker(each.pid, signal.SIGTERM)

    def reap_workers(self) -> None:
        """Forget exited workers. One that failed to start ends the master only if none was ever ready."""
        if any(each.is_ready for each in self.WORKERS.values()):
            self._outlives_failures = True
        while True:
            try:
                super().reap_workers()
            except HaltServer:
                if not self._outlives_failures:
                    self._outlives_failures = True  # while the other workers are stopped
                    raise
            else:
                return

    def murder_workers(self) -> None:
        """Kill workers without a heartbeat, but give them time after the whole machine was suspended."""
        now = time.monotonic()
        if now - self._checked_at > _HALT_SECONDS:
            self._lenient_until = now + _HALT_SECONDS
        self._checked_at = now
        if now >= self._lenient_until:
            super().murder_workers()

    def stop(self, graceful: bool = True) -> None:  # noqa: FBT001, FBT002 - gunicorn's signature
        """Stop all workers, even if the unix socket file is gone: gunicorn would fail and leave them running."""
        paths = [name for each in self.LISTENERS if isinstance(name := each.getsockname(), str)]
        sock.close_sockets(self.LISTENERS, unlink=False)
        self.LISTENERS = []
        if not self.systemd:
            for path in paths:
                Path(path).unlink(missing_ok=True)
        super().stop(graceful)


def main() -> None:
    """Run a plane. Settings of an outer gunicorn in the environment are not meant for this one."""
    for name in [each for each in os.environ if each.startswith("GUNICORN_")]:
        del os.environ[name]
    Plane("%(prog)s [OPTIONS] [APP_MODULE]", prog="gatewall").run()


if __name__ == "__main__":
    main()
