"""From a full segment to the next: no answer waits for the disk, no record is lost, no file is left over."""

import os
import shutil
from pathlib import Path

import pytest

from audit.spool import writer as spool_module
from audit.spool.frames import framed
from audit.spool.new_files import new_segment
from audit.spool.segments import is_being_written, segment_files
from audit.spool.writer import SpoolWriter
from tests.support.records import a_record
from tests.support.spool_files import read, records

SEGMENT_BYTES = 5000


@pytest.fixture
def spool(tmp_path):
    return tmp_path / "spool"


@pytest.fixture
def writer(spool):
    writer = SpoolWriter(spool, "node-1", segment_bytes=SEGMENT_BYTES)
    yield writer
    writer.close()


@pytest.fixture
def synced(monkeypatch):
    """Return the inodes that were synced, in order."""
    found = []
    for name in ("fsync", "fdatasync"):
        call = getattr(os, name)
        monkeypatch.setattr(os, name, lambda fd, call=call: (found.append(os.fstat(fd).st_ino), call(fd))[1])
    return found


def test_the_head_of_a_segment_is_on_the_disk_before_its_name(spool, monkeypatch):
    order = []
    sync, rename = os.fdatasync, Path.rename
    monkeypatch.setattr(os, "fdatasync", lambda fd: (order.append("sync"), sync(fd))[1])
    monkeypatch.setattr(Path, "rename", lambda path, to: (order.append("rename"), rename(path, to))[1])
    spool.mkdir()

    os.close(new_segment(spool, "node-1", 10**9).descriptor)

    assert order == ["sync", "rename"]


def filled(writer):
    """Write until the segment has no room for another record; return the number of records."""
    written = 0
    while writer._size + len(framed(a_record(written).to_bytes())) <= SEGMENT_BYTES:
        writer.write(a_record(written))
        written += 1
    return written


def over(writer, first):
    """Write from this number on until another segment takes the records; return the number behind the last."""
    while True:
        before = writer._size
        writer.write(a_record(first))
        first += 1
        if writer._size < before:
            return first


def in_order(spool):
    return sorted(read(spool), key=lambda record: record.decision_id)


def test_a_full_segment_is_left_without_waiting_for_the_disk(writer, spool, synced):
    written = filled(writer)
    writer._create_next()
    synced.clear()

    written = over(writer, written)

    assert synced == []
    assert in_order(spool) == records(written)


def test_without_a_prepared_segment_the_writer_waits_for_the_disk(writer, spool, synced):
    written = filled(writer)
    synced.clear()

    written = over(writer, written)

    assert len(synced) == 3  # the full one, the head of the next, its name
    assert in_order(spool) == records(written)


def test_the_thread_syncs_and_releases_the_full_segment(writer, spool, synced):
    written = filled(writer)
    (full,) = segment_files(spool)
    writer._create_next()
    over(writer, written)
    synced.clear()
    before = is_being_written(full)

    writer._sync_full()

    assert synced == [full.stat().st_ino]
    assert (before, is_being_written(full)) == (True, False)


def test_the_next_segment_is_prepared_when_the_current_one_is_half_full(writer, spool):
    writer._create_next()
    assert segment_files(spool) == []
    writer.write(a_record())
    writer._create_next()
    assert len(segment_files(spool)) == 1
    filled(writer)

    for _ in range(3):
        writer._create_next()

    assert len(segment_files(spool)) == 2
    assert all(map(is_being_written, segment_files(spool)))


def test_a_second_turnover_before_the_thread_runs_makes_its_own_segment(writer, spool):
    filled(writer)
    writer._create_next()
    written = over(writer, 100)
    written = over(writer, written)

    assert len(segment_files(spool)) == 3
    assert writer.lost == 0


def test_a_removed_prepared_segment_takes_no_record(writer, spool):
    filled(writer)
    writer._create_next()
    shutil.rmtree(spool)

    over(writer, 100)
    writer.write(a_record(200))

    assert a_record(200) in read(spool)
    assert writer.lost == 0


def test_a_spool_over_its_bound_has_no_prepared_segment(spool):
    writer = SpoolWriter(spool, "node-1", segment_bytes=SEGMENT_BYTES, folder_bytes=1000)
    written = filled(writer)

    writer._create_next()
    for number in range(written, 40):
        writer.write(a_record(number))

    assert len(segment_files(spool)) == 1
    assert len(read(spool)) + writer.lost == 40
    writer.close()


def test_closing_removes_the_empty_segment_and_syncs_the_others(writer, spool, synced):
    written = filled(writer)
    writer._create_next()
    written = over(writer, written)
    segments = segment_files(spool)
    while 2 * writer._size < SEGMENT_BYTES:
        writer.write(a_record(written))
        written += 1
    writer._create_next()
    assert len(segment_files(spool)) == 3
    synced.clear()

    writer.close()

    assert sorted(segment_files(spool)) == sorted(segments)
    assert {path.stat().st_ino for path in segments} == set(synced)
    assert not any(map(is_being_written, segments))
    assert in_order(spool) == records(written)


def test_a_segment_prepared_while_the_writer_closes_is_removed(writer, spool, monkeypatch):
    filled(writer)

    def made_meanwhile(*args):
        writer.close()
        return new_segment(*args)

    monkeypatch.setattr(spool_module, "new_segment", made_meanwhile)
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    writer._create_next()

    assert len(segment_files(spool)) == 1
    assert len(list(Path("/proc/self/fd").iterdir())) < open_before


def test_a_full_segment_that_cannot_be_synced_is_logged_and_released(writer, spool, monkeypatch, caplog):
    written = filled(writer)
    (full,) = segment_files(spool)
    writer._create_next()
    over(writer, written)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", lambda _: (_ for _ in ()).throw(OSError("input/output error")))
        writer._sync_full()

    assert "not synced: input/output error" in caplog.text
    assert not is_being_written(full)


def test_the_thread_prepares_and_syncs_segments_in_turn(writer, spool, monkeypatch):
    turns = iter([False] * 3 + [True])
    seen = []

    def wait(_seconds):
        seen.append((writer._next is not None, len(writer._full)))
        if len(seen) == 1:
            filled(writer)
        elif len(seen) == 2:
            over(writer, 100)
        return next(turns)

    monkeypatch.setattr(writer._stop, "wait", wait)

    writer._sync_until_closed()

    assert seen == [(False, 0), (True, 0), (False, 0), (False, 0)]
