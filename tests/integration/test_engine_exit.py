"""A process that ends while a thread loads compiled patterns exits cleanly."""

import subprocess
import sys

from gatewall.snapshot.pattern_cache import PatternCache, name_of
from tests.support.processes import BASE

PATTERNS = tuple(f"pattern{number}[a-z]{{1,9}}x{number}".encode() for number in range(500))
ENDS = """
import sys, time
from pathlib import Path
from gatewall.snapshot.pattern_cache import PatternCache

patterns = tuple(f"pattern{number}[a-z]{{1,9}}x{number}".encode() for number in range(500))
PatternCache(Path(sys.argv[1]), b"key").want(patterns, lambda scanner: None)
time.sleep(float(sys.argv[2]))
"""


def test_a_process_exits_cleanly_while_the_scanner_is_loaded(tmp_path):
    PatternCache(tmp_path, b"key").scanner(name_of(PATTERNS), PATTERNS)

    for hundredths in (0, 1, 3, 6):  # a thread loads the scanner meanwhile
        command = [sys.executable, "-c", ENDS, str(tmp_path), str(hundredths / 100)]
        ended = subprocess.run(command, cwd=BASE, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, ""), hundredths
