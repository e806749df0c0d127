"""gunicorn master of both planes: start, replace and restart workers without a gap.

    start    a worker that cannot be built ends the command if none has ever answered; else it is tried again
    SIGHUP   successors are started; the old workers are told to end when these answer, or, if some do and
             others do not, after graceful_timeout. While none answers the old ones stay
    SIGTERM  all workers end, whatever they wait for; SIGINT and SIGQUIT: at once, the control plane
             when its threads have answered

``manage.py data_plane`` and ``control_plane`` run it as ``python -m gatewall.server.master -c CONFIG APPLICATION``.
Workers are those of ``gatewall/server/answering.py``. Their number and the address are read at the start alone.
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
"""Who has not come to look at the workers for so long was halted. Looks are a second apart."""
_BASE = Path(__file__).resolve().parents[2]


class Plane(WSGIApplication):  # type: ignore[misc] # gunicorn has no types
    """gunicorn as a command, with our master."""

    def load_config(self) -> None:
        super().load_config()
        if self.cfg.preload_app:
            # The thread that follows the policy would stay behind in the master, and a reload would read nothing anew.
            print("gatewall: a plane cannot be preloaded: leave preload_app out", file=sys.stderr)  # noqa: T201
            sys.exit(2)

    def run(self) -> None:
        Master(self).run()


class Master(Arbiter):  # type: ignore[misc] # gunicorn has no types
    """Keeps as many workers as are wanted."""

    LISTENERS: list[Any]

    def __init__(self, app: Plane) -> None:
        super().__init__(app)
        self._outlives_failures = False
        self._replaced_up_to = 0
        self._reloaded_at = 0.0
        self._next_start = 0.0
        self._looked_at = self._spares_until = time.monotonic()

    def signal(self, sig: int, frame: Any) -> None:
        """Take a signal; also in a worker that was forked just now and has no handlers of its own yet."""
        if os.getpid() != self.pid:
            if sig in ENDING:
                os._exit(0)
            return
        super().signal(sig, frame)

    def handle_hup(self) -> None:
        """Have all workers replaced, unless the successors could not read their settings."""
        try:
            env.read(os.environ, _BASE)
        except env.ConfigError as error:
            self.log.error("not reloaded: %s", error)  # noqa: TRY400 - the words say it all
            return
        self.log.reopen_files()
        self._replaced_up_to = self.worker_age
        self._reloaded_at = time.monotonic()

    def handle_usr2(self) -> None:
        """Ignore it: a second master would end with the first one's workers, and take its socket along."""
        self.log.warning("SIGUSR2 is ignored: restart for another release, SIGHUP replaces its workers")

    def manage_workers(self) -> None:
        """Start the workers that are missing, and tell those to end that are too many. Called about every second."""
        now = time.monotonic()
        workers = sorted(self.WORKERS.values(), key=attrgetter("age"))
        replaced = [each for each in workers if each.age <= self._replaced_up_to]
        current = workers[len(replaced) :]
        missing = self.num_workers - len(current)
        if missing > 0 and now >= self._next_start:
            self._next_start = now + _RETRY_SECONDS
            for _ in range(missing):
                self.spawn_worker()
        answering = sum(each.answers for each in current)
        is_late = now > self._reloaded_at + self.cfg.graceful_timeout
        may_go = answering >= self.num_workers or (answering > 0 and is_late)
        leaving = [each for each in replaced if may_go or not each.answers]
        for each in leaving + current[: max(0, -missing)]:
            self.kill_worker(each.pid, signal.SIGTERM)

    def reap_workers(self) -> None:
        """Forget workers that have ended. One that could not be built ends the master only if none ever answered."""
        if any(each.answers for each in self.WORKERS.values()):
            self._outlives_failures = True
        while True:
            try:
                super().reap_workers()
            except HaltServer:
                if not self._outlives_failures:
                    self._outlives_failures = True  # while the others are ended
                    raise
            else:
                return

    def murder_workers(self) -> None:
        """End workers without a heartbeat; not at once after a halt of the whole machine, which was theirs too."""
        now = time.monotonic()
        if now - self._looked_at > _HALT_SECONDS:
            self._spares_until = now + _HALT_SECONDS
        self._looked_at = now
        if now >= self._spares_until:
            super().murder_workers()

    def stop(self, graceful: bool = True) -> None:  # noqa: FBT001, FBT002 - gunicorn's signature
        """End all workers. The unix socket may be gone: gunicorn itself would fail, and leave them running."""
        paths = [name for each in self.LISTENERS if isinstance(name := each.getsockname(), str)]
        sock.close_sockets(self.LISTENERS, unlink=False)
        self.LISTENERS = []
        if not self.systemd:
            for path in paths:
                Path(path).unlink(missing_ok=True)
        super().stop(graceful)


def main() -> None:
    """Run a plane. What a gunicorn in front of us was told in the environment is not meant for this one."""
    for name in [each for each in os.environ if each.startswith("GUNICORN_")]:
        del os.environ[name]
    Plane("%(prog)s [OPTIONS] [APP_MODULE]", prog="gatewall").run()


if __name__ == "__main__":
    main()
