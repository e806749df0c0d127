"""`GATEWALL_SPOOL_SYNC`, and whether a spool can be written at all."""

import os

import pytest

from audit.segments import segment_files
from audit.spool import SpoolWriter
from tests.records import a_record
from tests.spools import records


@pytest.fixture
def spool(tmp_path):
    return tmp_path / "spool"


def test_with_sync_a_record_is_on_disk_when_write_returns(spool, monkeypatch):
    synced = []
    monkeypatch.setattr("audit.spool.os.fdatasync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    writer = SpoolWriter(spool, "node-1", sync=True)

    for record in records(3):
        assert writer.write(record)
        assert synced[-1] == segment_files(spool)[0].stat().st_size


def test_with_sync_a_record_that_may_not_be_on_disk_is_not_kept_for_sure(spool, monkeypatch, caplog):
    writer = SpoolWriter(spool, "node-1", sync=True)
    with monkeypatch.context() as patch:
        patch.setattr("audit.spool.os.fdatasync", lambda _: (_ for _ in ()).throw(OSError("input/output error")))
        patch.setattr(writer._losses, "open", lambda: None)
        assert not writer.write(a_record(1))

    assert writer.write(a_record(2))
    assert (writer.lost, len(segment_files(spool))) == (0, 2)
    assert "not synced" in caplog.text


@pytest.mark.parametrize(("blocked", "usable"), [(False, True), (True, False)])
def test_a_spool_is_usable_where_a_segment_can_be_started(spool, blocked, usable):
    if blocked:
        spool.write_text("a file where the folder should be")

    assert SpoolWriter(spool, "node-1").is_usable() is usable
