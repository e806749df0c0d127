"""The lines of docs/operations.md for reading a spool by hand work."""

import os
import re
import subprocess
import sys
from pathlib import Path

from audit.spool.writer import SpoolWriter
from tests.support.records import a_record

BASE = Path(__file__).resolve().parents[2]


def test_the_lines_for_reading_a_spool_print_its_records_and_change_nothing(tmp_path):
    text = (BASE / "docs" / "operations.md").read_text().partition("## The spool\n")[2]
    code = re.search(r"python - <<'END'\n(.*?)END\n", text, re.DOTALL)[1]
    writer = SpoolWriter(tmp_path / "var" / "spool", "node-1")
    for number in range(3):
        writer.write(a_record(number))
    writer.close()
    (path,) = (tmp_path / "var" / "spool").glob("*.spool")
    before = path.read_bytes()

    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(BASE)},
        capture_output=True,
        check=True,
    )

    assert run.stdout.splitlines() == [a_record(number).to_bytes() for number in range(3)]
    assert path.read_bytes() == before
