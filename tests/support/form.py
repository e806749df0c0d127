"""Which form of the suite runs: how many examples a property is tried with."""

import os

FULL = os.environ.get("TESTS_FORM") == "full"
"""True under ``bin/test --full``, which sets the variable for its stages."""


def examples(most: int) -> int:
    """Return how many examples a property is tried with: all in the full form, a quarter of them by default."""
    return most if FULL else most // 4
