"""Install and record the programs: ``python -m tests.corpora.programs FOLDER [NAME...]``."""

import argparse
import subprocess
import sys
import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import Error

from tests.corpora.programs import storage
from tests.corpora.programs.catalog import PROGRAMS, Program
from tests.corpora.programs.session import session
from tests.corpora.record.clean import Cleaner
from tests.corpora.record.tap import Tape


def main() -> int:
    """Record the programs one after the other; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpora.programs", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the programs are, or will be, installed")
    parser.add_argument("names", nargs="*", help="all of them, unless some are named")
    wanted = parser.parse_args()
    failed = []
    for name in wanted.names or PROGRAMS:
        try:
            count = _record(PROGRAMS[name], wanted.folder.absolute())
        except (
            RuntimeError,
            OSError,
            KeyError,
            ValueError,
            subprocess.SubprocessError,
            Error,
        ):  # the others are recorded
            traceback.print_exc()
            failed.append(name)
            continue
        print(f"{name}: {count} requests", flush=True)
    print(f"not recorded: {', '.join(failed) or 'none'}")
    return bool(failed)


def _record(program: Program, programs: Path) -> int:
    program.install(programs)
    tape = Tape()
    with tempfile.TemporaryDirectory(prefix="recorded-") as folder:
        data = Path(folder) / "data"
        with session(program.name, programs, data, tape) as opened:
            program.drive(opened)
            clients = sorted({*opened.clients, *program.clients(programs)})
        about = {
            "session": "programs", "version": program.version(programs), "clients": clients,
            "recorded": datetime.now(UTC).date().isoformat(),
        }  # fmt: skip
        lines = storage.lines_of(program.name, tape.seen, Cleaner(Path(folder), programs), about)
        print((data / "client.log").read_text()[-600:] if not lines else f"{len(tape.seen)} seen")
    storage.store(lines)
    return len(lines)


if __name__ == "__main__":
    sys.exit(main())
