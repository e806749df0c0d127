"""Folders that are built once for all test processes and runs, keyed by a digest of the code."""

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

BASE = Path(__file__).resolve().parents[2]
CACHE = BASE / ".pytest_cache" / "templates"
KEPT = 3
_A_KEY = "[0-9a-f]" * 32
_PRODUCT = ("gatewall", "accounts", "policies", "audit", "licensing", "webhooks")
_KINDS = {".py", ".mo"}


def folder_of(name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder filled by ``make``, which runs in one process, and again after code changes."""
    CACHE.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made, unfinished = CACHE / f"{name}-{code_key()}", CACHE / f"unfinished-{name}"
        if not made.exists():
            # A concurrent run may still copy the newest ones.
            for old in sorted(CACHE.glob(f"{name}-{_A_KEY}"), key=lambda path: path.stat().st_mtime)[:-KEPT]:
                shutil.rmtree(old)
            shutil.rmtree(unfinished, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix="gatewall-template-") as folder:
                make(Path(folder))
                shutil.copytree(folder, unfinished)
            unfinished.rename(made)
    return made


@cache
def code_key() -> str:
    """Return a digest of the product's code, the set-up code of the tests, the Python version and the day.

    The day is included so that dated values, such as keys and the first admin, are never older than a day.
    """
    files = [Path(__file__).with_name("processes.py"), BASE / "requirements.txt"]
    for app in _PRODUCT:
        files += [path for path in (BASE / app).rglob("*") if path.suffix in _KINDS]
    digest = hashlib.sha256(f"{sys.version} {time.time() // 86400} {os.geteuid()}".encode())
    for path in sorted(files):
        digest.update(f"{path}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:32]
