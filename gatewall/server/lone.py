"""The only worker of a plane, without a master: ``python -m gatewall.server.lone LISTENING HEARTBEAT -c CONFIG APP``.

The supervisor of ``gatewall up`` does the master's work. It holds the listening socket and the heartbeat file, both
given as descriptors, and starts another worker when this one ends or hangs (docs/adr/0105-lone-workers.md).
"""

import os
import sys

from gunicorn import sock
from gunicorn.workers.workertmp import WorkerTmp

from gatewall.server.master import Plane


class Heartbeat(WorkerTmp):  # type: ignore[misc] # gunicorn has no types
    """Heartbeat file that the supervisor has opened."""

    def __init__(self, descriptor: int) -> None:
        self._tmp = os.fdopen(descriptor, "w+b", 0)


class LonePlane(Plane):
    """gunicorn as a command that is itself the worker."""

    def __init__(self, listening: int, heartbeat: int) -> None:
        super().__init__("%(prog)s [OPTIONS] APP_MODULE", prog="gatewall")
        self._listening, self._heartbeat = listening, heartbeat

    def run(self) -> None:
        """Serve until a signal; exits the process."""
        cfg, log = self.cfg, self.cfg.logger_class(self.cfg)
        cfg.on_starting(None)
        listening = sock.create_sockets(cfg, log, fds=[self._listening])
        worker = cfg.worker_class(1, os.getppid(), listening, self, cfg.timeout / 2.0, cfg, log)
        worker.tmp.close()
        worker.tmp = Heartbeat(self._heartbeat)
        worker.pid = os.getpid()
        worker.init_process()


def main() -> None:
    """Run the worker with the descriptors that the arguments name."""
    listening, heartbeat = (int(sys.argv.pop(1)) for _ in range(2))
    LonePlane(listening, heartbeat).run()


if __name__ == "__main__":
    main()
