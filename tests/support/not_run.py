"""Skip a test whose means this computer does not have; on a build server, which must have them, fail it."""

import os
from typing import NoReturn

import pytest


def not_run(why: str) -> NoReturn:
    """Skip the test and say why; fail it if the environment variable CI is ``true``."""
    words = f"NOT RUN: {why}"
    if os.environ.get("CI") == "true":
        pytest.fail(words)
    pytest.skip(words)
