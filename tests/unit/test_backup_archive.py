"""The backup file: if a byte of it is wrong or missing, either its rows are unchanged, or the file is refused."""

import json

import pytest

from gatewall.install.backup.archive import (
    DATA_KEYS,
    FORMAT,
    Archive,
    ArchiveWriter,
    BackupRefused,
    Manifest,
    StoredTable,
    member_of,
    new_file,
)

ROWS = [[number, f"row {number}", None] for number in range(50)]
MANIFEST = Manifest(
    format=FORMAT,
    version="0.1.0",
    engine="sqlite",
    made_at="2026-11-23T06:00:00+00:00",
    host="a",
    revision=3,
    epoch="e",
    lineage="l m",
    has_log=False,
    log_days=[],
    migrations=[["a", "0001"]],
    tables={"t": StoredTable(["id", "name", "more"], len(ROWS), 50)},
)


@pytest.fixture
def backup(tmp_path):
    path = tmp_path / "backup"
    with new_file(path, force=False) as file:
        writer = ArchiveWriter(file)
        with writer.member(DATA_KEYS) as write:
            write(b"k:secret")
        with writer.member(member_of("t")) as write:
            for row in ROWS:
                write(json.dumps(row).encode() + b"\n")
        writer.close(MANIFEST)
    return path


def read(path):
    with Archive.opened(path) as archive:
        return archive.manifest, list(archive.rows("t")), archive.data_keys()


def test_a_written_archive_is_read_back(backup):
    assert read(backup) == (MANIFEST, ROWS, "k:secret")


def test_a_truncated_file_is_refused(backup):
    data = backup.read_bytes()
    for length in range(len(data)):
        backup.write_bytes(data[:length])
        with pytest.raises(BackupRefused, match="no complete backup"):
            read(backup)


def test_a_flipped_bit_is_refused_or_changes_nothing(backup):
    data, refused = backup.read_bytes(), 0
    for place in range(len(data)):
        for bit in (1, 128):
            backup.write_bytes(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :])
            try:
                assert read(backup) == (MANIFEST, ROWS, "k:secret"), place
            except BackupRefused:
                refused += 1
    assert refused > len(data)


def test_a_file_that_is_being_written_is_not_written_twice(tmp_path):
    path = tmp_path / "backup"
    with new_file(path, force=False) as file:
        file.write(b"first")
        with pytest.raises(BackupRefused, match="is being written"), new_file(path, force=True):
            pass
    assert path.read_bytes() == b"first"


def test_a_partial_file_of_a_killed_backup_is_overwritten(tmp_path):
    (tmp_path / ".backup.partial").write_bytes(b"much more than the new one")
    with new_file(tmp_path / "backup", force=False) as file:
        file.write(b"new")

    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("backup", b"new")]


@pytest.mark.parametrize("taken", ["file", "folder", "link"])
def test_a_name_that_is_taken_is_refused(tmp_path, taken):
    path = tmp_path / "backup"
    {"file": path.touch, "folder": path.mkdir, "link": lambda: path.symlink_to("/nowhere")}[taken]()

    with pytest.raises(BackupRefused), new_file(path, force=False):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["backup"]
