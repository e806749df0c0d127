"""A worker that ends on SIGTERM writes its records to disk, and leaves no unused spool file."""

import http.client
import signal

import pytest

from audit.spool.segments import segment_files
from tests.support.processes import PATIENCE, control_plane, data_plane, wait_until
from tests.support.servers import about

LONG = "x" * 2000
ENOUGH = 3000
"""Answers whose records fill more than half of a segment: then the sync thread creates the next one."""


def fill(home, port):
    """Send requests until the next segment exists."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    question = {**about(uri=f"/{LONG}?q={LONG}"), "User-Agent": LONG}
    for _ in range(ENOUGH):
        connection.request("GET", "/wall/auth", headers=question)
        connection.getresponse().read()
        if len(segment_files(home / "spool")) > 1:
            break
    connection.close()
    wait_until(lambda: len(segment_files(home / "spool")) > 1, what="the segment that follows")


@pytest.mark.parametrize("plane", [pytest.param(control_plane, marks=pytest.mark.full), data_plane])
def test_a_worker_that_ends_leaves_no_unused_segment(home, port, plane):
    with plane(home, port, path="/health/live", GATEWALL_WORKERS="1") as process:
        fill(home, port)
        used = [path for path in segment_files(home / "spool") if path.stat().st_size > 1000]
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)

    assert (len(used), segment_files(home / "spool")) == (1, used)
