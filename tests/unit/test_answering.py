"""A worker that gets a signal to end while it starts."""

import signal
import subprocess
import sys

import pytest

STARTING = """
import os, signal, sys, time
from gatewall.server.answering import AnsweringWorker

worker = object.__new__(AnsweringWorker)
worker.PIPE = os.pipe()
os.set_blocking(worker.PIPE[1], False)
worker.init_signals()
try:
    os.kill(os.getpid(), int(sys.argv[1]))
    time.sleep(10)
except BaseException:  # as an import does that makes another error of it
    os._exit(9)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_a_worker_that_starts_ends_without_an_exception(number):
    assert subprocess.run([sys.executable, "-c", STARTING, str(int(number))], timeout=60, check=False).returncode == 0
