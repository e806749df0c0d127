"""A state folder that is full or not writable at a start: one line with the remedy."""

import os
import subprocess
import sys

import pytest

from tests.support.not_run import not_run
from tests.support.processes import BASE, PATIENCE

MANAGE = (sys.executable, "manage.py")
KEYS = (*MANAGE, "keys")
ON_A_DISK = 'mount -t tmpfs -o "$0" tmpfs "$GATEWALL_HOME" || exit 99; exec "$@"'
AFTER_KEYS = f'"{sys.executable}" manage.py keys >/dev/null; '
READ_ONLY = 'mount -o remount,ro "$GATEWALL_HOME" || exit 99; '


def start(home, options, *command, before=""):
    """Run a command with a small disk as its state folder, in namespaces of its own; return its output and code."""
    as_user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    script = ON_A_DISK.replace("exec", f"{before}exec")
    done = subprocess.run(
        ["unshare", *as_user, "--mount", "sh", "-c", script, options, *command],
        cwd=BASE,
        env={"PATH": os.environ["PATH"], "GATEWALL_HOME": str(home), "GATEWALL_DEMO": "0"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode in {1, 99} and "unshare" in done.stderr + done.stdout:
        not_run(f"no namespaces for a full disk ({done.stderr.strip()})")
    return done


@pytest.mark.parametrize(
    ("options", "before", "command"),
    [
        ("size=8k", "", KEYS),
        ("size=64k", AFTER_KEYS, (*MANAGE, "up")),
        ("nr_inodes=1", "", ("deploy/docker/entrypoint", "all")),
    ],
    ids=["keys", "up", "container"],
)
def test_a_full_disk_is_one_line_and_code_2(tmp_path, options, before, command):
    done = start(tmp_path, options, *command, before=before)

    assert done.returncode == 2, done
    assert done.stderr.startswith(f"gatewall: the disk of {tmp_path}")
    assert " is full: free space on it, or " in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [KEYS, (*MANAGE, "up"), (*MANAGE, "data_plane"), (*MANAGE, "control_plane")],
    ids=["keys", "up", "data_plane", "control_plane"],
)
def test_no_write_access_is_one_line_and_code_2(tmp_path, command):
    done = start(tmp_path, "size=1m", *command, before=READ_ONLY if command is KEYS else AFTER_KEYS + READ_ONLY)

    assert done.returncode == 2, done
    assert done.stderr.startswith("gatewall: user 0 cannot write to "), done.stderr
    assert str(tmp_path) in done.stderr
    assert "GATEWALL_HOME" in done.stderr
    assert done.stderr.count("\n") == 1
