"""Explain in one line why files cannot be written (disk full, no permission, read-only), with the fix. Pure."""

import errno
import os
from pathlib import Path

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_SQLITE_FULL = "database or disk is full"
_SQLITE_DENIED = "readonly database"
_SQLITE_UNOPENED = "unable to open database file"
"""Also the message for a wrong path in ``DATABASE_URL``: it counts only if ``home`` cannot be written."""


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
    is_denied = _SQLITE_DENIED in words or (_SQLITE_UNOPENED in words and not os.access(home, os.W_OK))
    return _denied(str(home)) if is_denied else ""


def _full(place: str) -> str:
    return f"the disk of {place} is full: free space on it, or set GATEWALL_HOME to a folder of another disk"


def _denied(place: str) -> str:
    return (
        f"user {os.geteuid()} cannot write to {place}: give the folder GATEWALL_HOME to that user, "
        "or set GATEWALL_HOME to another folder"
    )
