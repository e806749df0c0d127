"""Quarantine unreadable pieces of the spool as files for an operator to inspect. Pure."""

import logging
from pathlib import Path

logger = logging.getLogger(__name__)

SUFFIX = ".aside"
_MAX_FILES = 1000
"""Maximum number of pieces to keep; further ones are only counted."""


def keep(segment: Path, position: int, number: int, data: bytes) -> None:
    """Save a piece of a segment to a file named after its origin. Idempotent. Raises OSError."""
    path = segment.with_name(f"{segment.stem}-{position}-{number}{SUFFIX}")
    if path.exists() or len(list(segment.parent.glob(f"*{SUFFIX}"))) < _MAX_FILES:
        path.write_bytes(data)


def rename(path: Path) -> None:
    """Quarantine a whole file. Raises OSError."""
    path.rename(path.with_suffix(SUFFIX))
    logger.error("access log: %s cannot be read and is set aside", path.name)
