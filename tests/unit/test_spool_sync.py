"""`GATEWALL_SPOOL_SYNC`, and whether a spool is writable."""

import os

import pytest

from audit.spool.segments import segment_files
from audit.spool.writer import SpoolWriter
from tests.support.records import a_record
from tests.support.spool_files import records


@pytest.fixture
def spool(tmp_path):
    return tmp_path / "spool"


def test_with_sync_a_record_is_on_disk_when_write_returns(spool, monkeypatch):
    synced = []
    monkeypatch.setattr(
        "audit.spool.writer.os.fdatasync", lambda descriptor: synced.append(os.fstat(descriptor).st_size)
    )
    writer = SpoolWriter(spool, "node-1", sync=True)

    for record in records(3):
        assert writer.write(record)
        assert synced[-1] == segment_files(spool)[0].stat().st_size


def test_with_sync_write_returns_false_for_an_unsynced_record(spool, monkeypatch, caplog):
    writer = SpoolWriter(spool, "node-1", sync=True)
    assert writer.write(a_record(0))
    with monkeypatch.context() as patch:
        patch.setattr("audit.spool.writer.os.fdatasync", lambda _: (_ for _ in ()).throw(OSError("input/output error")))
        patch.setattr(writer._losses, "open", lambda: None)
        assert not writer.write(a_record(1))

    assert writer.write(a_record(2))
    assert (writer.lost, len(segment_files(spool))) == (0, 2)
    assert "not synced" in caplog.text


def test_with_sync_a_record_behind_a_torn_one_is_on_disk_too(spool, monkeypatch):
    writer = SpoolWriter(spool, "node-1", sync=True)
    assert writer.write(a_record(0))
    (first,) = segment_files(spool)
    synced, write = [], os.write
    with monkeypatch.context() as patch:
        patch.setattr("audit.spool.writer.os.write", lambda fd, data: write(fd, data[: len(data) // 2]))
        patch.setattr("audit.spool.new_files.write_whole", write)
        patch.setattr("audit.spool.writer.write_whole", write)
        patch.setattr(
            "audit.spool.writer.os.fdatasync", lambda fd: synced.append((os.fstat(fd).st_ino, os.fstat(fd).st_size))
        )
        assert writer.write(a_record(1))

    (second,) = set(segment_files(spool)) - {first}
    assert synced[-1] == (second.stat().st_ino, second.stat().st_size)


def test_without_a_free_descriptor_the_next_attempt_syncs(spool, monkeypatch):
    writer = SpoolWriter(spool, "node-1")
    assert writer.write(a_record(0))
    synced = []
    monkeypatch.setattr("audit.spool.writer.os.fdatasync", synced.append)
    with monkeypatch.context() as patch:
        patch.setattr("audit.spool.writer.os.dup", lambda _: (_ for _ in ()).throw(OSError("too many open files")))
        writer._sync_outside_lock()
        assert synced == []

    writer._sync_outside_lock()
    assert len(synced) == 1


@pytest.mark.parametrize(("blocked", "usable"), [(False, True), (True, False)])
def test_a_spool_is_usable_where_a_segment_can_be_started(spool, blocked, usable):
    if blocked:
        spool.write_text("a file where the folder should be")

    assert SpoolWriter(spool, "node-1").is_usable() is usable
