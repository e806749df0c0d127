"""Published policy files on disk: contents, permissions, retention, and the lock of publishers."""

import fcntl
import hashlib
import os
import stat
import time

import pytest
import time_machine

from tests.unit.publications import KEY, a_manifest, publish

OLD = 1_000_000_000
DIGEST_OF_X = hashlib.sha256(b"x").hexdigest()


def path_of(folder, ref):
    return folder / "segments" / ref.sha256


def modes(folder):
    return {
        str(path.relative_to(folder.parent)): stat.S_IMODE(path.stat().st_mode)
        for path in [folder, *folder.rglob("*")]
        if path.is_dir() or path.is_file()
    }


def test_only_the_owner_can_read_the_files(files, folder):
    before = os.umask(0)
    try:
        with files.publishing():
            publish(files)
    finally:
        os.umask(before)

    found = modes(folder)
    assert {found.pop("policy"), found.pop("policy/segments")} == {0o700}
    assert set(found.values()) == {0o600}
    assert {"policy/current", "policy/lock"} < set(found)


def test_only_the_publication_is_left_in_the_folder(files, folder):
    manifest = publish(files)

    assert {path.name for path in folder.iterdir()} == {"current", "segments"}
    assert {path.name for path in (folder / "segments").iterdir()} == {ref.sha256 for ref in manifest.segments.values()}


def test_a_reader_that_opened_the_old_file_still_reads_it(files, folder):
    publish(files, 1)
    before = (folder / "current").read_bytes()

    with (folder / "current").open("rb") as opened:
        publish(files, 2)
        assert opened.read() == before


def test_a_rewritten_segment_is_a_new_file(files, folder):
    ref = files.write_segment(b"0123456789", "a")
    path_of(folder, ref).write_bytes(b"damaged")

    with path_of(folder, ref).open("rb") as opened:
        files.write_segment(b"0123456789", "a")
        assert opened.read() == b"damaged"


def test_a_segment_that_is_there_is_not_written_again(files, folder):
    ref = files.write_segment(b"0123456789", "a")
    before = path_of(folder, ref).stat().st_ino

    files.write_segment(b"0123456789", "b")

    assert path_of(folder, ref).stat().st_ino == before


def test_a_write_that_fails_leaves_nothing_behind(files, folder):
    (folder / "segments" / DIGEST_OF_X).mkdir(parents=True)  # no file can take the place of a folder

    with pytest.raises(IsADirectoryError):
        files.write_segment(b"x", "a")

    assert [path.name for path in (folder / "segments").iterdir()] == [DIGEST_OF_X]


# Sweeping.


def aged(folder, ref):
    os.utime(path_of(folder, ref), (OLD, OLD))
    return ref


def test_an_old_unused_segment_is_removed(files, folder):
    ref = aged(folder, files.write_segment(b"old", "a"))

    files.publish(a_manifest(1, segments={}))

    assert not path_of(folder, ref).exists()


def test_an_old_segment_in_use_is_kept(files, folder):
    ref = aged(folder, files.write_segment(b"old", "a"))

    files.publish(a_manifest(1, segments={"settings": ref}))

    assert files.segment(ref) == b"old"


def test_a_young_segment_is_kept(files):
    ref = files.write_segment(b"young", "a")

    files.publish(a_manifest(1, segments={}))

    assert files.segment(ref) == b"young"


def test_an_old_segment_that_is_written_again_counts_as_young(files, folder):
    ref = aged(folder, files.write_segment(b"old", "a"))

    files.write_segment(b"old", "b")

    files.publish(a_manifest(1, segments={}))
    assert path_of(folder, ref).exists()


@pytest.fixture
def clock(monkeypatch):
    """Stop the clock at the current time, also for the times of files; return the object that moves it."""
    touched = os.utime
    with time_machine.travel(int(time.time()), tick=False) as traveler:
        monkeypatch.setattr(os, "utime", lambda path, times=None: touched(path, times or (time.time(), time.time())))
        yield traveler


def test_files_level_off_however_often_the_policy_changes(files, folder, clock):
    counts = []
    for revision in range(1, 200):
        publish(files, revision, blocked=[f"203.0.113.{revision}"])
        counts.append(len(list((folder / "segments").iterdir())))
        clock.shift(1)

    # One segment per change: those in use, and those that went out of use in the last ten seconds.
    assert max(counts[100:]) == counts[20] <= len(files.manifest().segments) + 11


def test_a_segment_just_out_of_use_is_kept_for_late_readers(files, folder, clock):
    ref = aged(folder, files.write_segment(b"old", "a"))
    files.publish(a_manifest(1, segments={"settings": ref}))

    files.publish(a_manifest(2, segments={}))

    assert files.segment(ref) == b"old"
    clock.shift(11)
    files.publish(a_manifest(3, segments={}))
    assert not path_of(folder, ref).exists()


def test_segments_from_the_future_are_removed(files, folder, clock):
    ref = files.write_segment(b"young", "a")
    clock.shift(-3600)

    files.publish(a_manifest(1, segments={}))

    assert not path_of(folder, ref).exists()


# Two publishers.


def is_locked(folder):
    with (folder / "lock").open("rb") as other:
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_a_publisher_holds_the_lock(files, folder):
    with files.publishing():
        assert is_locked(folder)


def test_waiting_for_another_publisher_times_out(files):
    with files.publishing(), pytest.raises(OSError, match="another process"), files.publishing(patience=0):
        pass


@pytest.mark.parametrize("error", [None, RuntimeError("a fault of our own")])
def test_a_publisher_that_is_done_lets_the_next_one_in(files, folder, error):
    try:
        with files.publishing():
            if error:
                raise error
    except RuntimeError:
        pass

    assert not is_locked(folder)


def test_the_key_is_in_no_file(files, folder):
    publish(files)

    assert not any(KEY in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_leftover_files_of_a_killed_publisher_are_removed(files, folder):
    folder.mkdir()
    (folder / ".current.1").write_bytes(b"half")

    with files.publishing():
        publish(files)

    assert list(folder.glob(".current*")) == []
