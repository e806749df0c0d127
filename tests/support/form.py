"""The form of the test run, full or default: how many cases a test tries."""

import os
from typing import TypeVar

T = TypeVar("T")

FULL = os.environ.get("TESTS_FORM") == "full"
"""True under ``bin/test --full``, which sets the variable for its stages."""


def examples(most: int) -> int:
    """Return the number of examples of a property test: all in the full form, a quarter by default."""
    return most if FULL else most // 4


def by_form(*, full: T, default: T) -> T:
    """Return the value for this form; the default form must try a part of the full form."""
    return full if FULL else default
