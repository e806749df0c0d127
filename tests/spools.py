"""Spools with something in them, and processes that write to them."""

import subprocess
import sys
from pathlib import Path

from audit.segments import segment_files
from tests.records import a_record, read_records

ROOT = Path(__file__).parents[1]


def records(count, **parts):
    return [a_record(number, **parts) for number in range(count)]


def read(spool):
    return [record for path in segment_files(spool) for record in read_records(path)]


def in_a_process(code, *arguments):
    """A process that runs these lines with a writer of its own."""
    begin = (
        "import os, sys, itertools\nfrom pathlib import Path\nfrom audit.spool import *; from audit.segments import *\n"
        "from tests.records import a_record\nwriter = SpoolWriter(Path(sys.argv[1]), 'node-1')\n"
    )
    return subprocess.Popen([sys.executable, "-c", begin + code, *arguments], cwd=ROOT, stdout=subprocess.PIPE)
