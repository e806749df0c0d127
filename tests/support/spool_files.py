"""Spools with records, and processes that write to them."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from audit.spool.records import AccessRecord
from audit.spool.segments import segment_files
from audit.spool.writer import SpoolWriter
from tests.support.cast import NOW
from tests.support.records import a_record, read_records

ROOT = Path(__file__).parents[2]


def records(count: int, **parts: Any) -> list[AccessRecord]:
    return [a_record(number, **parts) for number in range(count)]


def read(spool: Path) -> list[AccessRecord]:
    return [record for path in segment_files(spool) for record in read_records(path)]


def losing(writer: SpoolWriter, count: int, at: float = NOW) -> None:
    """Make a writer lose this many records, like on a full disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_append", lambda _frame: (_ for _ in ()).throw(OSError("disk full")))
        for number in range(count):
            writer.write(a_record(100 + number, at=at))


def in_a_process(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a process that runs this code with its own writer."""
    begin = (
        "import os, sys, itertools\nfrom pathlib import Path\nfrom audit.spool.writer import *\n"
        "from audit.spool.segments import *\n"
        "from tests.support.records import a_record\nwriter = SpoolWriter(Path(sys.argv[1]), 'node-1')\n"
    )
    return subprocess.Popen([sys.executable, "-c", begin + code, *arguments], cwd=ROOT, stdout=subprocess.PIPE)
