"""Record the harmless requests again: ``python -m tests.corpora.record [SESSION...]`` (README.md beside it)."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.corpora.record import files, machines, people
from tests.corpora.record.clean import Cleaner, written
from tests.corpora.record.tap import Tape

HERE = Path(__file__).parents[1]
SESSIONS = {
    "own-api": machines.own_api,
    "own-pages": people.own_pages,
    "searches": people.searches,
    "pasted": people.pasted,
    "git": files.git,
    "webdav": files.webdav,
    "packages": machines.packages,
    "dashboards": machines.dashboards,
    "sign-in": machines.sign_in,
}


def main() -> int:
    """Run the sessions and write their requests; return 1 if there are fewer than the corpus requires."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpora.record", description=__doc__)
    parser.add_argument("sessions", nargs="*", help="all of them, unless some are named")
    wanted = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    tape, names = Tape(), wanted.sessions or list(SESSIONS)
    with tempfile.TemporaryDirectory(prefix="recorded-") as folder:
        for name in names:
            before = len(tape.seen)
            own = Path(folder) / name
            own.mkdir()
            SESSIONS[name](tape, own)
            print(f"{name}: {len(tape.seen) - before} requests")
        folders = [Path(folder), *[Path(folder) / name for name in names]]
        for path, held in (
            (HERE / "pasted.jsonl.gz", {"pasted"} & set(names)),
            (HERE / "benign.jsonl.gz", set(names) - {"pasted"}),
        ):
            seen = [each for each in tape.seen if each.session in held]
            print(f"{written(seen, path, Cleaner(*folders), held)} distinct requests in {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
