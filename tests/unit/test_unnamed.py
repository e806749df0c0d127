"""Spool files without a final name: removed after their writer was killed, and not before."""

import fcntl
import os

import pytest

from audit.spool import new_files
from audit.spool.writer import SpoolWriter
from tests.support.processes import wait_until
from tests.support.spool_files import in_a_process

WRITE = """
from audit.spool import new_files
new_files.create(Path(sys.argv[1]) / "one.new", os.O_WRONLY)
print(flush=True); import time; time.sleep(600)
"""


@pytest.fixture
def spool(tmp_path):
    folder = tmp_path / "spool"
    folder.mkdir()
    return folder


@pytest.fixture
def writer(spool):
    writer = SpoolWriter(spool, "node-1")
    yield writer
    writer.close()


def test_a_file_is_kept_until_its_writer_is_killed(spool):
    with in_a_process(WRITE, spool) as process:
        try:
            process.stdout.readline()
            new_files.remove_abandoned(spool)
            stayed = list(spool.iterdir())
        finally:
            process.kill()
    new_files.remove_abandoned(spool)

    assert (stayed, list(spool.iterdir())) == ([spool / "one.new"], [])


def test_a_starting_process_removes_leftover_files(spool, writer):
    (spool / "one.new").write_bytes(b"half")

    writer.sync_regularly()

    wait_until(lambda: not (spool / "one.new").exists(), what="a clean spool")


def test_a_writer_creates_its_file_again_if_it_was_removed_as_abandoned(spool, monkeypatch):
    calls, flock = [], fcntl.flock

    def lock(descriptor, how):
        if not calls:
            (spool / "one.new").unlink()  # somebody else had the lock until now
        calls.append(how)
        return flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", lock)
    descriptor = new_files.create(spool / "one.new", os.O_WRONLY)

    os.write(descriptor, b"x")
    os.close(descriptor)
    assert (spool / "one.new").read_bytes() == b"x"


def test_a_file_that_cannot_be_locked_is_not_left(spool, monkeypatch):
    def refuse(*_):
        raise OSError("no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)

    with pytest.raises(OSError, match="no locks"):
        new_files.create(spool / "one.new", os.O_WRONLY)
    assert list(spool.iterdir()) == []
