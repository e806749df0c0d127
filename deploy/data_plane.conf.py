"""gunicorn for the data plane, as ``manage.py data_plane`` runs it (``gatewall/server/master.py``)."""

import os
import sys
from pathlib import Path

from gatewall.kernel import env

try:
    environment = env.read(os.environ, Path(__file__).resolve().parent.parent)
except env.ConfigError as error:
    print(f"gatewall: {error}", file=sys.stderr)  # noqa: T201 - the one line
    sys.exit(2)

address = f"[{environment.bind}]" if ":" in environment.bind else environment.bind
bind = f"unix:{environment.auth_socket}" if environment.auth_socket else f"{address}:{environment.auth_port}"
umask = 0o117  # of the unix socket alone: the proxy's group may connect. Workers set their own
workers = environment.workers
# The workers share one listening socket. With one for each, connections that wait for a worker which ends are lost.
reuse_port = False
backlog = 2048
worker_class = "gatewall.gate.worker.AuthWorker"
graceful_timeout = 30  # also how long old workers wait at a reload when not all of their successors answer
# A worker that hangs keeps its connections silent for so long. Its loop takes no turn longer than one decision, and the
# thread that reads a policy lets it run meanwhile. To start, a worker has six times as long.
timeout = 10
# gunicorn's heartbeat file: in memory, or in TMPDIR where that may not be written to
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None  # noqa: S108
control_socket_disable = True
loglevel = "debug" if environment.log_level == "DEBUG" else "warning"
