"""gunicorn for the control plane, as ``manage.py control_plane`` runs it (``gatewall/serving/master.py``)."""

import os
import sys
import time
from pathlib import Path

from gatewall import env
from gatewall.forwardauth.gunicorn import join_repeated_headers

try:
    environment = env.read(os.environ, Path(__file__).resolve().parent.parent)
except env.ConfigError as error:
    print(f"gatewall: {error}", file=sys.stderr)  # noqa: T201 - the one line
    sys.exit(2)

bind = (
    f"[{environment.bind}]:{environment.port}" if ":" in environment.bind else f"{environment.bind}:{environment.port}"
)
workers = environment.workers
# Threads, because a control-plane request waits for the database; the gate's memory is shared by them.
worker_class = "gatewall.serving.threads.ThreadsWorker"
threads = 8
keepalive = 75  # longer than a proxy keeps its idle connections, so that it closes first
graceful_timeout = 10  # also how long old workers wait at a reload when not all of their successors answer
timeout = 60
# What a proxy takes from a visitor must fit in here, with the headers that it adds: nginx takes lines of
# 8 KiB and sends a URI of that length in a header with a name of its own.
limit_request_line = 8190  # gunicorn's maximum
limit_request_fields = 200
limit_request_field_size = 32_768
# Who the client is, and over which scheme, is decided in gatewall/clientip.py alone.
forwarded_allow_ips = ""
secure_scheme_headers: dict[str, str] = {}
forwarder_headers = ""
header_map = "drop"  # X_Forwarded_For is not X-Forwarded-For
# gunicorn's heartbeat file: in memory, or in TMPDIR where that may not be written to
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None  # noqa: S108
control_socket_disable = True
loglevel = environment.log_level.lower()


def on_starting(server: object) -> None:
    """Tell the workers since when the control plane runs (``gatewall/operations/uptime.py``)."""
    os.environ["CONTROL_PLANE_STARTED_AT"] = str(time.time())


def pre_request(worker: object, req: object) -> None:
    """Keep repeated header lines apart before gunicorn joins them by comma."""
    req.headers = join_repeated_headers(req.headers)  # type: ignore[attr-defined]
