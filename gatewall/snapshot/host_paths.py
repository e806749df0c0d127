"""Paths below ``GATEWALL_HOME``, and this host's node name. Pure."""

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from gatewall.kernel.env import Config

if TYPE_CHECKING:
    from gatewall.snapshot.files import PolicyFiles


def policy_files(config: Config) -> "PolicyFiles":
    """Return the published policy files of this host."""
    from gatewall.snapshot.files import PolicyFiles  # noqa: PLC0415 - loads the engine, which a health check does not need

    return PolicyFiles(config.home / "policy", config.manifest_key)


def run_folder(home: Path) -> Path:
    """Return the folder of runtime files, created if missing: locks, sockets, reports."""
    folder = home / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def geo_folder(home: Path) -> Path:
    """Return the folder of the copies of the geo database that processes map."""
    return run_folder(home) / "geo"


def backups_folder(home: Path) -> Path:
    """Return the folder for backups that every kind of installation may write; the first backup there creates it."""
    return home / "backups"


def node_name() -> str:
    """Return the name of this host in records and reports."""
    return os.environ.get("HOSTNAME") or socket.gethostname()
