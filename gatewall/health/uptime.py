"""Start time of the control plane."""

import os
from datetime import UTC, datetime

VARIABLE = "CONTROL_PLANE_STARTED_AT"
"""Set by gunicorn's master (``deploy/gunicorn.conf.py``), inherited by its workers: these come and go."""
_IMPORTED_AT = datetime.now(UTC)


def started_at() -> datetime:
    """Return when gunicorn's master started; under another server, when this process did."""
    try:
        return datetime.fromtimestamp(float(os.environ[VARIABLE]), UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        return _IMPORTED_AT


def is_served() -> bool:
    """True in a worker of gunicorn, as ``deploy/gunicorn.conf.py`` starts it; False in commands and tests."""
    return VARIABLE in os.environ
