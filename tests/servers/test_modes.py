"""File modes: Gatewall's files are for its own user alone, and the socket also for the proxy's group."""

import stat
import subprocess
import sys
from contextlib import suppress

import pytest

from gatewall.snapshot.worker_report import living_workers
from tests.support.processes import BASE, data_plane, environment, make_keys, prepare, wait_until


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def modes_of_files(folder):
    """Return the modes of all files; temporary files may disappear meanwhile."""
    found = {}
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            found[path] = path.stat().st_mode
    return {path: stat.S_IMODE(value) for path, value in found.items() if stat.S_ISREG(value)}


@pytest.fixture
def careless(tmp_path):
    """Return a state folder that everybody may read."""
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    return home


def run_with_umask_022(home, *arguments):
    command = [sys.executable, *arguments]
    subprocess.run(command, cwd=BASE, env=environment(home), umask=0o022, check=True, capture_output=True, timeout=60)


def test_database_that_migrate_makes_is_for_the_owner_alone(careless):
    run_with_umask_022(careless, "-m", "gatewall.credentials.keyfiles")
    run_with_umask_022(careless, "manage.py", "migrate", "--verbosity=0")

    assert mode(careless) == 0o700
    assert {mode(path) for path in careless.glob("gatewall.sqlite3*")} == {0o600}


def test_making_keys_closes_a_folder_that_was_open(careless):
    make_keys(careless)

    assert mode(careless) == 0o700


def test_socket_of_the_data_plane_is_open_to_its_group_and_no_file_is(tmp_path):
    home, unix = tmp_path / "home", tmp_path / "auth.sock"
    home.mkdir()
    prepare(home)

    with data_plane(home, unix=unix, GATEWALL_WORKERS="1"):
        wait_until(lambda: living_workers(home / "run" / "workers"), what="a worker's report")
        modes = {path: value for path, value in modes_of_files(home).items() if path.name != "auth.log"}

        assert mode(unix) == 0o660
        assert not {path: oct(value) for path, value in modes.items() if value & 0o077}
