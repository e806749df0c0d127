"""Write the requests as applications.jsonl.gz."""

import argparse
import gzip
import json
import sys
from pathlib import Path

from tests.corpora.applications import content, requests


def main() -> int:
    """Write the file into a folder."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpora.applications", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--contents", action="store_true", help="first take the documents and source files of today")
    wanted = parser.parse_args()
    if wanted.contents:
        content.keep()
    with gzip.open(wanted.folder / "applications.jsonl.gz", "wt", encoding="ascii") as file:
        file.writelines(json.dumps(each) + "\n" for each in requests())
    return 0


if __name__ == "__main__":
    sys.exit(main())
