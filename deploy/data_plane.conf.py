"""gunicorn for the data plane: ``gunicorn -c deploy/data_plane.conf.py 'gatewall.data_plane:application()'``."""

import os
import sys
from pathlib import Path

from gatewall import env
from gatewall.forwardauth import worker

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
worker_class = "gatewall.forwardauth.worker.AuthWorker"
on_reload = worker.on_reload
pre_fork = worker.pre_fork
graceful_timeout = 30  # how long workers stay whose successors do not answer; they end sooner of themselves
timeout = 30
# gunicorn's heartbeat file: in memory, or in TMPDIR where that may not be written to
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None  # noqa: S108
control_socket_disable = True
loglevel = "debug" if environment.log_level == "DEBUG" else "warning"
