"""The file of a key ring: replaced atomically, private, and changed by one process at a time."""

import errno
import os
import stat
from pathlib import Path

import pytest

from gatewall.credentials import ringfile
from gatewall.credentials.keyring import KeyRing, KeyRingRefused, SigningKey

OLD = KeyRing((SigningKey("old", bytes(range(32))),))
NEW = KeyRing((SigningKey("new", bytes(range(100, 132))), *OLD.keys))


class Killed(BaseException):
    """Raised where the process is killed."""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "jwt-keys"
    path.write_text(OLD.text() + "\n")
    return path


def test_ring_is_replaced_and_private(file):
    file.chmod(0o644)

    ringfile.write(file, NEW)

    assert ringfile.read(file) == NEW
    assert file.stat().st_mode & 0o777 == 0o600
    assert os.listdir(file.parent) == ["jwt-keys"]  # noqa: PTH208 - the names alone


def test_a_symbolic_link_is_kept(file, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(file)

    ringfile.write(link, NEW)

    assert link.is_symlink()
    assert ringfile.read(file) == NEW


@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.replace", "tempfile.mkstemp", "os.fdopen"])
def test_file_is_whole_wherever_a_writer_is_killed(file, monkeypatch, call):
    def killed(*_, **__):
        raise Killed

    monkeypatch.setattr(call, killed)
    with pytest.raises(Killed):
        ringfile.write(file, NEW)
    monkeypatch.undo()

    assert ringfile.read(file) == OLD
    ringfile.write(file, NEW)
    assert os.listdir(file.parent) == ["jwt-keys"]  # noqa: PTH208 - the names alone


def test_a_failed_write_leaves_the_old_ring_and_no_copy(file, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        ringfile.write(file, NEW)

    assert ringfile.read(file) == OLD
    assert os.listdir(file.parent) == ["jwt-keys"]  # noqa: PTH208 - the names alone


def test_second_rotation_is_refused_while_one_runs(file):
    with ringfile.held([file, file]):  # noqa: SIM117 - one inside the other is what is tested
        with pytest.raises(ringfile.RotationRunning), ringfile.held([file]):
            pass

    with ringfile.held([file]):
        pass


@pytest.mark.parametrize("text", ["", "nothing", "a:AAAA"])
def test_file_without_a_ring_is_refused(file, text):
    file.write_text(text)

    with pytest.raises(KeyRingRefused):
        ringfile.read(file)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_owner_is_kept_when_root_rotates(file):
    os.chown(file, 12345, 12345)

    ringfile.write(file, NEW)

    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 12345)


@pytest.mark.parametrize(
    ("writer", "may"), [(lambda owner: owner, True), (lambda _: 0, True), (lambda owner: owner + 1, False)]
)
def test_file_is_replaced_by_its_owner_and_by_root_alone(file, monkeypatch, writer, may):
    owner = file.stat().st_uid + 1000
    os_stat = os.stat_result((0o100600, 0, 0, 1, owner, 0, 0, 0, 0, 0))
    monkeypatch.setattr(type(file), "stat", lambda *_, **__: os_stat)
    monkeypatch.setattr("os.geteuid", lambda: writer(owner))

    assert ringfile.is_writable(file) is may


def test_folder_must_be_writable_and_it_is_that_of_the_file_behind_a_link(file, tmp_path, monkeypatch):
    link = tmp_path / "elsewhere" / "link"
    link.parent.mkdir()
    link.symlink_to(file)
    asked = []
    monkeypatch.setattr("os.access", lambda folder, mode: asked.append((folder, mode)))

    assert not ringfile.is_writable(link)
    assert asked == [(file.parent, os.W_OK | os.X_OK)]


def test_ring_and_its_name_are_on_disk_before_the_call_returns(file, monkeypatch):
    synced = []

    def fsync(descriptor):
        state = os.fstat(descriptor)
        synced.append((stat.S_ISDIR(state.st_mode), state.st_size, ringfile.read(file)))

    monkeypatch.setattr("os.fsync", fsync)
    ringfile.write(file, NEW)

    (new_is_folder, size, before), (folder_is_one, _, after) = synced
    assert (new_is_folder, size, before) == (False, len(NEW.text()) + 1, OLD)
    assert (folder_is_one, after) == (True, NEW)


def test_no_descriptor_stays_open(file):
    before = len(list(Path("/dev/fd").iterdir()))

    ringfile.write(file, NEW)

    assert len(list(Path("/dev/fd").iterdir())) == before


def test_the_original_error_is_raised_even_if_the_copy_is_gone(file, monkeypatch):
    def replace(path, target):
        path.unlink()
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(Path, "replace", replace)

    with pytest.raises(OSError, match="no space"):
        ringfile.write(file, NEW)
    assert ringfile.read(file) == OLD
