"""Hide installed packages from a library that imports them only because they are installed. Pure."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def left_out(*names: str) -> Iterator[None]:
    """Make imports of these packages fail within the block, unless they are already imported."""
    absent = [name for name in names if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment] # marks a missing package for the import system
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
