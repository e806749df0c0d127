"""Compile patterns in a subprocess: ``python -m gatewall.snapshot.pattern_process``. Pure.

Reads a JSON list of patterns from standard input, writes the database to standard output. Its time, memory and
priority are limited, and it is killed when its parent ends.
"""

import ctypes
import json
import os
import resource
import signal
import sys
from contextlib import suppress

from gatewall.engine.waf.vector import DatabaseRefused, VectorScanner

CPU_SECONDS = 120
_MEMORY_BYTES = 4 * 1024**3
_PR_SET_PDEATHSIG = 1


def main() -> int:
    """Compile the patterns; return the exit code: 0, or 1 if they cannot be compiled."""
    with suppress(AttributeError):  # not on macOS
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    try:
        data = VectorScanner.compiled([text.encode("latin-1") for text in json.load(sys.stdin)]).dumped()
    except DatabaseRefused as error:
        print(error, file=sys.stderr)  # noqa: T201 - read by the parent
        return 1
    sys.stdout.buffer.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
