"""Skip a test that needs a missing program; on a build server, fail it instead."""

import os
from typing import NoReturn

import pytest


def not_run(why: str) -> NoReturn:
    """Skip the test with a reason; fail it if the environment variable CI is ``true``."""
    words = f"NOT RUN: {why}"
    if os.environ.get("CI") == "true":
        pytest.fail(words)
    pytest.skip(words)
