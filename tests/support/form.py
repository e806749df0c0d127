"""Which form of the suite runs: how much a test tries."""

import os
from typing import TypeVar

T = TypeVar("T")

FULL = os.environ.get("TESTS_FORM") == "full"
"""True under ``bin/test --full``, which sets the variable for its stages."""


def examples(most: int) -> int:
    """Return how many examples a property is tried with: all in the full form, a quarter of them by default."""
    return most if FULL else most // 4


def by_form(*, full: T, default: T) -> T:
    """Return how much a test tries in this form; what it tries by default is a part of the full form."""
    return full if FULL else default
