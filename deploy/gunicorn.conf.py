"""gunicorn for the control plane, as ``gatewall control-plane`` runs it (``gatewall/server/master.py``)."""

import os
import sys
import time
from pathlib import Path

from gatewall.kernel import env

try:
    environment = env.read(os.environ, Path(__file__).resolve().parent.parent)
except env.ConfigError as error:
    print(f"gatewall: {error}", file=sys.stderr)  # noqa: T201 - the one line
    sys.exit(2)

bind = (
    f"[{environment.bind}]:{environment.port}" if ":" in environment.bind else f"{environment.bind}:{environment.port}"
)
workers = environment.workers
# Threads, because a request waits for the database; they share the gate's memory. Requests are read completely
# before, within the limits of gatewall/server/threaded.py and http1.py.
worker_class = "gatewall.server.threads.ThreadsWorker"
threads = 8
graceful_timeout = 10  # also the wait of old workers at a reload if some new ones do not become ready
timeout = 60
# gunicorn's heartbeat file: in memory, or in TMPDIR if that is not writable
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None  # noqa: S108
control_socket_disable = True
loglevel = environment.log_level.lower()


def on_starting(server: object) -> None:
    """Pass the start time of the control plane to the workers (``gatewall/health/uptime.py``)."""
    os.environ["CONTROL_PLANE_STARTED_AT"] = str(time.time())
