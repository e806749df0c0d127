"""A migrated SQLite database, made once for all test processes and runs; each process gets a copy."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.templates import BASE, folder_of

_NAME = "migrated.sqlite3"


def copy_to(target: Path) -> None:
    """Write an empty database with all migrations applied; migrating takes a second of CPU time."""
    shutil.copyfile(folder_of("migrated", _migrate) / _NAME, target)


def _migrate(folder: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{folder / _NAME}"}
    subprocess.run(
        [sys.executable, "-m", "django", "migrate", "--no-input", "--verbosity=0"],
        cwd=BASE,
        env=environment | {"DJANGO_SETTINGS_MODULE": "tests.settings", "PYTHONPATH": str(BASE)},
        check=True,
    )
