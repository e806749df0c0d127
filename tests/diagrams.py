"""The pictures of docs/diagrams: `python -m tests.diagrams` renders each .d2 to .svg with D2.

Each picture ends with the SHA-256 of its text, by which tests/docs/test_diagrams.py sees that it is current.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "diagrams"
D2 = "oss.terrastruct.com/d2@v0.7.2"
_OPTIONS = ("--theme=0", "--dark-theme=200", "--pad=20", "--omit-version", "--layout=dagre")


def mark(source: Path) -> str:
    """Return the last line of the picture of a text."""
    return f"<!-- {source.name} {hashlib.sha256(source.read_bytes()).hexdigest()} -->\n"


def main() -> None:
    """Render all of them."""
    command = shutil.which("d2")
    if command is None:
        sys.exit(f"there is no d2: go install {D2}")
    for source in sorted(FOLDER.glob("*.d2")):
        picture = source.with_suffix(".svg")
        subprocess.run([command, *_OPTIONS, str(source), str(picture)], check=True)
        picture.write_text(f"{picture.read_text().rstrip()}\n{mark(source)}")
        picture.chmod(0o644)


if __name__ == "__main__":
    main()
