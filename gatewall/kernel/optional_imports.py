"""Leave packages out that a library imports only because they are installed. Pure."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def left_out(*names: str) -> Iterator[None]:
    """Let imports within the block fail for these packages, unless they are imported already."""
    absent = [name for name in names if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment] # what the import system takes for a missing package
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
