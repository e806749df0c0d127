"""Create the missing secrets of an installation, each in a file of mode 0600.

``gatewall keys`` runs it, ``gatewall up`` too. Needs the standard library only.
"""

import os
import secrets
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from gatewall.credentials import base64url
from gatewall.credentials.manifest_key import manifest_key
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
"""File name under ``GATEWALL_HOME/secrets``, and the generator of its content."""
MANIFEST_KEY = "manifest-key"
"""Key for a separate data plane, derived from ``secret-key``, which the data plane does not get."""


def make_missing(folder: Path) -> list[str]:
    """Create the missing key files in a folder of mode 0700; return their names."""
    # The state folder is made apart, because mkdir applies the mode to the last folder only.
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.mkdir(exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    made = [name for name, make in KEY_FILES.items() if _write_once(folder / name, make)]
    if _write_once(folder / MANIFEST_KEY, lambda: _derived(folder / "secret-key")):
        made.append(MANIFEST_KEY)
    return made


def _derived(secret_key: Path) -> str:
    return base64url.encode(manifest_key(secret_key.read_text(encoding="utf-8").strip()))


def _write_once(path: Path, make: Callable[[], str]) -> bool:
    """Write a file unless it exists, atomically by ``link()``; return whether it was written."""
    if path.exists():
        return False
    # mkstemp gives a unique name and mode 0600: in a container every run has the same process id.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    with os.fdopen(descriptor, "w") as file:
        file.write(make() + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, path)  # fails if the file exists, where rename would overwrite it
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    return True


def keep_private(home: Path) -> None:
    """Restrict the modes of an existing state folder and its database. Raises PermissionError if not their owner."""
    home.chmod(0o700)
    for file in home.glob("*.sqlite3*"):
        file.chmod(0o600)


def main() -> None:
    """Create the key files of the installation in ``GATEWALL_HOME``."""
    home = Path(os.environ.get("GATEWALL_HOME") or "var")
    for name in make_missing(home / "secrets"):
        print(f"made {home / 'secrets' / name}")
    try:
        keep_private(home)
    except PermissionError as error:
        print(f"gatewall: cannot restrict the permissions of GATEWALL_HOME: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
