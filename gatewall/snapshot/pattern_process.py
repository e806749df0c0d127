"""Compile patterns in a subprocess: ``python -m gatewall.snapshot.pattern_process``. Pure.

Patterns come as a JSON list of texts on standard input, the database goes to standard output. The
process has a limit of time and memory, does not compete with those that answer, and ends with the process that
started it.
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
    """Return the exit code: 0, or 1 if the patterns make no database."""
    with suppress(AttributeError):  # not on macOS
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    try:
        data = VectorScanner.compiled([text.encode("latin-1") for text in json.load(sys.stdin)]).dumped()
    except DatabaseRefused as error:
        print(error, file=sys.stderr)  # noqa: T201 - the one line
        return 1
    sys.stdout.buffer.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
