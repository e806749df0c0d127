"""Explain in one line why files cannot be written (disk full, no permission, read-only), with the fix. Pure."""

import errno
import os
from pathlib import Path

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_SQLITE_FULL = "database or disk is full"
_SQLITE_DENIED = ("readonly database", "unable to open database file")


def of_error(error: OSError, home: Path) -> str:
    """Return the line for a failed write below ``home``, empty for an error of another kind."""
    place = str(error.filename or home)
    if error.errno in _FULL:
        return _full(place)
    return _denied(place) if error.errno in _DENIED else ""


def of_sqlite(words: str, home: Path) -> str:
    """Return the line for an error message of SQLite, empty for one of another kind."""
    if _SQLITE_FULL in words:
        return _full(str(home))
    return _denied(str(home)) if any(each in words for each in _SQLITE_DENIED) else ""


def _full(place: str) -> str:
    return f"the disk of {place} is full: free space on it, or set GATEWALL_HOME to a folder of another disk"


def _denied(place: str) -> str:
    return (
        f"user {os.geteuid()} cannot write to {place}: give the folder GATEWALL_HOME to that user, "
        "or set GATEWALL_HOME to another folder"
    )
