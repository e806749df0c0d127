"""Soak test: ``python -m tests.soak --minutes 20 [--answers 150] [--edits 1] [--sign-ins 0.5] [--postgresql]``.

Starts both planes and the agent as shipped, applies a constant load, samples their resources and prints a report. Exits
with 1 on any 5xx, ``policy_pending`` or late row, and on growing memory or files (tolerances: ``judgment.py``).
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.soak import report
from tests.soak.run import Load, installed, soak


def main() -> int:
    """Run until the time is over; return 1 if something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    usual = Load()
    parser.add_argument("--minutes", type=float, default=usual.minutes)
    parser.add_argument("--answers", type=float, default=usual.answers, help="questions a second")
    parser.add_argument("--edits", type=float, default=usual.edits, help="changes of the policy a second")
    parser.add_argument("--sign-ins", type=float, default=usual.sign_ins, help="sign-ins a second")
    parser.add_argument("--row-seconds", type=float, default=1.0, help="how late a row may be readable")
    parser.add_argument("--postgresql", action="store_true", help="on a PostgreSQL of its own, not on SQLite")
    parser.add_argument("--report", type=Path, help="where to write the report, too")
    parser.add_argument("--samples", type=Path, help="where to write every sample, as JSON")
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # stop all child processes
    load = Load(wanted.minutes, wanted.answers, wanted.edits, wanted.sign_ins)
    began = time.monotonic()

    def say(words: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {words}", flush=True)

    with (
        tempfile.TemporaryDirectory(prefix="gatewall-soak-") as folder,
        installed(Path(folder), postgresql=wanted.postgresql) as (stage, stored_log),
    ):
        soaked = soak(stage, stored_log, load, say)
    wrong = report.failures(soaked, load, row_seconds=wanted.row_seconds)
    text = report.text_of(soaked, load, "PostgreSQL" if wanted.postgresql else "SQLite", wrong)
    print(text)
    if wanted.report:
        wanted.report.write_text(text + "\n")
    if wanted.samples:
        wanted.samples.write_text(json.dumps(soaked.samples))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
