"""Start time of the control plane."""

import os
from datetime import UTC, datetime

VARIABLE = "CONTROL_PLANE_STARTED_AT"
"""Set by gunicorn's master (``deploy/gunicorn.conf.py``) and inherited by its workers."""
_IMPORTED_AT = datetime.now(UTC)


def started_at() -> datetime:
    """Return when gunicorn's master or, under another server, this process started."""
    try:
        return datetime.fromtimestamp(float(os.environ[VARIABLE]), UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        return _IMPORTED_AT


def is_served() -> bool:
    """Return whether this is a gunicorn worker of ``deploy/gunicorn.conf.py``."""
    return VARIABLE in os.environ
