"""gunicorn for the data plane, as ``gatewall data-plane`` runs it (``gatewall/server/master.py``)."""

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
umask = 0o117  # of the unix socket only: the proxy's group may connect. Workers set their own
workers = environment.workers
# One shared listening socket: with one per worker, connections that wait for an ending worker are lost.
reuse_port = False
backlog = 2048
worker_class = "gatewall.gate.worker.AuthWorker"
graceful_timeout = 30  # also the wait of old workers at a reload if some new ones do not become ready
# A hung worker blocks its connections for this long. The event loop is never blocked longer than one decision:
# policies are loaded in a thread. A worker's start may take six times as long.
timeout = 10
# gunicorn's heartbeat file: in memory, or in TMPDIR if that is not writable
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None  # noqa: S108
control_socket_disable = True
loglevel = "debug" if environment.log_level == "DEBUG" else "warning"
