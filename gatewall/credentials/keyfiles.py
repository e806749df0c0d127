"""Makes the secrets that an installation needs and does not have yet, each in a file of mode 0600.

Run as ``python -m gatewall.credentials.keyfiles``; ``bin/up`` does. Needs the standard library only.
"""

import os
import secrets
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from gatewall.credentials.manifest_key import as_text, manifest_key
from gatewall.credentials.rotation import new_ring


def _random_text() -> str:
    return secrets.token_urlsafe(48)


def _random_key_ring() -> str:
    return new_ring(datetime.now(UTC)).text()


KEY_FILES: dict[str, Callable[[], str]] = {
    "secret-key": _random_text,
    "jwt-keys": _random_key_ring,
    "data-keys": _random_key_ring,
    "admin-recovery-key": _random_text,
}
"""File name under ``GATEWALL_HOME/secrets``, and how its content is made."""
MANIFEST_KEY = "manifest-key"
"""The file with what a data plane of its own gets in place of ``secret-key``, from which it is derived."""


def make_missing(folder: Path) -> list[str]:
    """Make the missing key files in a folder of mode 0700; return the names of those made."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # the state folder: mkdir gives parents no mode
    folder.mkdir(exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    made = [name for name, make in KEY_FILES.items() if _write_once(folder / name, make)]
    if _write_once(folder / MANIFEST_KEY, lambda: _derived(folder / "secret-key")):
        made.append(MANIFEST_KEY)
    return made


def _derived(secret_key: Path) -> str:
    return as_text(manifest_key(secret_key.read_text(encoding="utf-8").strip()))


def _write_once(path: Path, make: Callable[[], str]) -> bool:
    """Write a new file, or leave an existing one alone. The winner of a race is decided by link()."""
    if path.exists():
        return False
    # A name of its own, mode 0600: in a container every run has the same process id.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    with os.fdopen(descriptor, "w") as file:
        file.write(make() + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, path)  # fails where rename would overwrite the winner's key
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    return True


def keep_private(home: Path) -> None:
    """Close a state folder, and the database in it, that were there with another mode.

    Raises PermissionError for what belongs to somebody else.
    """
    home.chmod(0o700)
    for file in home.glob("*.sqlite3*"):
        file.chmod(0o600)


def main() -> None:
    """Make the key files of the installation that the environment names."""
    home = Path(os.environ.get("GATEWALL_HOME") or "var")
    for name in make_missing(home / "secrets"):
        print(f"made {home / 'secrets' / name}")
    try:
        keep_private(home)
    except PermissionError as error:
        print(f"gatewall: GATEWALL_HOME is not closed to others: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
