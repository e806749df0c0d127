"""Atomic replacement of files, and locks of files."""

import os

import pytest

from gatewall.kernel.file_io import locked, replace_file, try_lock_file


@pytest.mark.parametrize("synced", [True, False])
def test_a_replaced_file_is_private_and_leaves_no_other_file(tmp_path, synced):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o644)

    replace_file(path, b"new", synced=synced)

    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("file", b"new")]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("synced", "syncs"), [(True, ["file", "folder"]), (False, [])])
def test_data_are_on_disk_before_the_name_and_the_name_at_the_end(tmp_path, monkeypatch, synced, syncs):
    path, seen = tmp_path / "file", []
    monkeypatch.setattr(os, "fsync", lambda _: seen.append("folder" if path.exists() else "file"))

    replace_file(path, b"new", synced=synced)

    assert seen == syncs


def test_a_full_disk_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, b"new", synced=True)

    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "old")]


def test_a_lock_is_exclusive_and_released_afterwards(tmp_path):
    with locked(tmp_path / "lock"):
        assert try_lock_file(tmp_path / "lock") is None

    descriptor = try_lock_file(tmp_path / "lock")
    assert descriptor is not None
    os.close(descriptor)
