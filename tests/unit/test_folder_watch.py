"""A wait for a file ends when the file gets its name, or after its timeout."""

import threading
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from gatewall.snapshot import folder_watch
from gatewall.snapshot.folder_watch import FolderWatch

LONG = 120.0
"""A timeout in seconds that no test may reach: only a call that is woken returns earlier."""


def put(folder, name="current"):
    new = folder / f"{name}.new"
    new.write_bytes(b"x")
    new.replace(folder / name)


def returns_after(action, watch):
    """Return whether a waiting thread returns after this call, and not before."""
    waiter = threading.Thread(target=watch.wait, args=(LONG,), daemon=True)
    waiter.start()
    waiter.join(0.05)
    was_waiting = waiter.is_alive()
    action()
    waiter.join(LONG / 2)
    return was_waiting and not waiter.is_alive()


def test_a_file_that_is_put_in_place_ends_the_wait(tmp_path):
    with closing(FolderWatch(tmp_path)) as watch:
        assert returns_after(lambda: put(tmp_path), watch)


def test_a_file_put_in_place_before_the_wait_ends_the_wait(tmp_path):
    with closing(FolderWatch(tmp_path)) as watch:
        put(tmp_path)

        watch.wait(LONG)


def test_a_wait_consumes_all_earlier_changes(tmp_path, monkeypatch):
    with closing(FolderWatch(tmp_path)) as watch:
        put(tmp_path, "a")
        put(tmp_path, "b")
        watch.wait(LONG)

        watch.wait(0.01)  # a wait without a working timeout would never end

        assert returns_after(lambda: put(tmp_path, "c"), watch)


def test_each_of_several_folders_ends_the_wait(tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    with closing(FolderWatch(*folders)) as watch:
        for folder in folders:
            assert returns_after(lambda folder=folder: put(folder), watch)


def test_a_folder_that_is_made_later_is_watched_from_the_next_wait_on(tmp_path):
    folder = tmp_path / "policy"
    with closing(FolderWatch(folder)) as watch:
        watch.wait(0.01)
        folder.mkdir()
        watch.wait(0.01)

        assert returns_after(lambda: put(folder), watch)


@pytest.mark.parametrize("libc", [object(), type("Full", (), {"inotify_init1": lambda *_: -1})()], ids=["none", "full"])
def test_without_inotify_the_timeout_ends_the_wait(tmp_path, monkeypatch, libc):
    monkeypatch.setattr(folder_watch.ctypes, "CDLL", lambda _name: libc)
    with closing(FolderWatch(tmp_path)) as watch:
        put(tmp_path)

        watch.wait(0.01)


def test_a_watch_leaves_no_file_open(tmp_path):
    before = psutil.Process().num_fds()

    for _ in range(3):
        with closing(FolderWatch(tmp_path, Path("/nowhere"))) as watch:
            watch.wait(0)

    assert psutil.Process().num_fds() == before


def test_a_closed_watch_sleeps(tmp_path):
    watch = FolderWatch(tmp_path)
    watch.close()
    watch.close()

    watch.wait(0.01)
