"""The secrets that an installation generates for itself."""

import os
import runpy

import pytest

from gatewall.credentials import keyfiles
from gatewall.credentials.keyfiles import KEY_FILES, MANIFEST_KEY, main, make_missing
from gatewall.credentials.keyring import KeyRing
from gatewall.credentials.manifest_key import from_text, manifest_key
from gatewall.credentials.rotation import next_key

ALL = {*KEY_FILES, MANIFEST_KEY}


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_missing_files_are_created(tmp_path):
    made = make_missing(tmp_path / "home" / "secrets")

    assert set(made) == ALL == set(contents(tmp_path / "home" / "secrets"))


def test_files_and_folder_are_for_the_owner_alone(tmp_path):
    folder = tmp_path / "secrets"
    folder.mkdir(mode=0o755)

    make_missing(folder)

    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_existing_file_is_left_alone(tmp_path):
    (tmp_path / "secret-key").write_text("mine")

    made = make_missing(tmp_path)

    assert "secret-key" not in made
    assert (tmp_path / "secret-key").read_text() == "mine"


def test_manifest_key_is_derived_from_the_secret_key(tmp_path):
    make_missing(tmp_path)
    found = contents(tmp_path)

    assert from_text(found["manifest-key"].strip()) == manifest_key(found["secret-key"].strip())


def test_a_second_run_creates_nothing(tmp_path):
    make_missing(tmp_path)
    before = contents(tmp_path)

    assert make_missing(tmp_path) == []
    assert contents(tmp_path) == before


def test_secrets_are_random_and_long(tmp_path):
    make_missing(tmp_path / "a")
    make_missing(tmp_path / "b")

    assert all(contents(tmp_path / "a")[name] != contents(tmp_path / "b")[name] for name in KEY_FILES)
    assert all(len(text.strip()) >= 43 for text in contents(tmp_path / "a").values())


@pytest.mark.parametrize("name", ["jwt-keys", "data-keys"])
def test_key_ring_is_usable_and_has_its_next_key(tmp_path, name):
    make_missing(tmp_path)
    ring = KeyRing.parse((tmp_path / name).read_text())

    assert [len(key.secret) for key in ring.keys] == [32, 32]
    assert next_key(ring) == ring.keys[1]


def test_leftover_files_of_a_killed_run_do_not_stop_the_next_run(tmp_path, monkeypatch):
    monkeypatch.setattr("os.link", _killed)
    monkeypatch.setattr("pathlib.Path.unlink", _killed)
    with pytest.raises(Killed):
        make_missing(tmp_path)
    monkeypatch.undo()

    assert set(make_missing(tmp_path)) == ALL


class Killed(BaseException):
    """Raised where the process is killed."""


def _killed(*_, **__):
    raise Killed


def test_command_creates_the_files_of_the_installation(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GATEWALL_HOME", str(tmp_path))

    main()

    assert set(contents(tmp_path / "secrets")) == ALL
    assert all(text.strip() not in capsys.readouterr().out for text in contents(tmp_path / "secrets").values())


def test_module_is_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("GATEWALL_HOME", str(tmp_path))

    runpy.run_path(keyfiles.__file__, run_name="__main__")

    assert set(contents(tmp_path / "secrets")) == ALL


def test_state_folder_and_database_of_an_older_mode_are_closed(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    for name in ("gatewall.sqlite3", "gatewall.sqlite3-wal"):
        (home / name).touch()
        (home / name).chmod(0o644)
    monkeypatch.setenv("GATEWALL_HOME", str(home))

    main()

    assert home.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in home.glob("*.sqlite3*")} == {0o600}


def test_a_state_folder_of_another_user_is_reported_without_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GATEWALL_HOME", str(tmp_path))
    make_missing(tmp_path / "secrets")
    monkeypatch.setattr("gatewall.credentials.keyfiles.keep_private", _of_somebody_else)

    main()

    assert "GATEWALL_HOME" in capsys.readouterr().err


def _of_somebody_else(home):
    raise PermissionError(1, "Operation not permitted", str(home))


def test_parent_folders_are_created(tmp_path):
    make_missing(tmp_path / "srv" / "home" / "secrets")

    assert (tmp_path / "srv" / "home").stat().st_mode & 0o777 == 0o700


def test_secret_text_has_48_random_bytes(tmp_path):
    make_missing(tmp_path)

    assert len(contents(tmp_path)["secret-key"].strip()) == 64


def test_file_is_on_disk_before_it_has_its_name(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("os.fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))

    make_missing(tmp_path)

    assert sorted(synced) == sorted(len(text) for text in contents(tmp_path).values())


def test_file_that_another_run_has_just_made_is_left_alone(tmp_path, monkeypatch):
    def make():
        (tmp_path / "secret-key").write_text("theirs")
        return "ours"

    monkeypatch.setattr("gatewall.credentials.keyfiles.KEY_FILES", {"secret-key": make})

    assert make_missing(tmp_path) == [MANIFEST_KEY]
    assert contents(tmp_path)["secret-key"] == "theirs"
