"""One program under test: start it, put the recorder before it, and give its driver clients."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import requests
from playwright.sync_api import Page, sync_playwright

from gatewall.install.ports import free_port
from tests.browser.installation import find_chromium, launch
from tests.corpora.applications.content import Content
from tests.corpora.record.files import FILES, HARD
from tests.corpora.record.tap import PATIENCE, Tape
from tests.support.processes import running

USER, PASSWORD = "alice", "correct-Horse-2026"
STARTS_WITHIN = 900


@dataclass
class Session:
    """Tools of a driver: the address of the recorder before the program, clients, and contents."""

    name: str
    programs: Path
    """The folder with the installed programs (``install.py``)."""
    folder: Path
    """An empty folder for the data of the program."""
    tape: Tape
    content: Content
    clients: set[str] = field(default_factory=set)
    at: str = ""
    _stack: ExitStack = field(default_factory=ExitStack)

    def python(self, program: str, command: str = "python") -> str:
        """Return the path of a command of a program from PyPI."""
        return str(self.programs / "py" / program / "bin" / command)

    def node(self, program: str, command: str) -> str:
        """Return the path of a command of a program from npm."""
        return str(
            self.programs / "js" / program.replace("/", "_").replace("@", "_") / "node_modules" / ".bin" / command
        )

    def deb(self, program: str) -> Path:
        """Return the folder with the unpacked packages of a program from Debian."""
        return self.programs / "deb" / program

    def run(self, *command: str, stdin: str = "", **env: str) -> str:
        """Run a client or a tool of the program, and return what it printed; its failure is not an error."""
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment(env), input=stdin.encode(), capture_output=True,
            timeout=6 * PATIENCE, check=False,
        )  # fmt: skip
        with (self.folder / "client.log").open("ab") as log:
            log.write(" ".join(command).encode() + b"\n" + done.stdout[-2000:] + done.stderr[-2000:] + b"\n")
        return done.stdout.decode(errors="replace")

    def _environment(self, changes: dict[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in {"PATH", "LANG", "TMPDIR"}}
        return {**kept, "HOME": str(self.folder), "LC_ALL": "C.UTF-8", **changes}

    def serve(self, command: Callable[[int], Sequence[str]], *, ready: str = "/", **env: str) -> None:
        """Start the program on a free port and the recorder before it; return when it answers."""
        port = free_port()
        environment = self._environment({name: value.format(port=port) for name, value in env.items()})
        argv = ["env", "-C", str(self.folder), *command(port)]
        process = self._stack.enter_context(running(argv, log=self.folder / "server.log", env=environment))
        deadline = time.monotonic() + STARTS_WITHIN
        while True:
            try:
                requests.get(f"http://127.0.0.1:{port}{ready}", timeout=PATIENCE, allow_redirects=False)
                break
            except requests.ConnectionError as error:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((self.folder / "server.log").read_text()[-3000:]) from error
                time.sleep(0.3)
        tap = self._stack.enter_context(self.tape.listening(self.name, upstream=port))
        self.at = f"http://127.0.0.1:{tap}"

    @cached_property
    def http(self) -> requests.Session:
        """Return a session of ``requests``; use it if the program's own client library is based on it."""
        self.clients.add(f"requests {version('requests')}")
        return requests.Session()

    def send(self, method: str, path: str, **options: Any) -> requests.Response:
        """Send one request through the recorder."""
        return self.http.request(method, self.at + path, timeout=2 * PATIENCE, **options)

    @cached_property
    def page(self) -> Page:
        """Return a page of Chromium."""
        executable = find_chromium()
        assert executable is not None, "apt-get install chromium"
        browser = launch(self._stack.enter_context(sync_playwright()), executable)
        self._stack.callback(browser.close)
        self.clients.add(f"Chromium {browser.version}")
        page = browser.new_context(accept_downloads=False, ignore_https_errors=True).new_page()
        page.set_default_timeout(15_000)
        page.on("dialog", lambda dialog: dialog.accept())
        return page

    def curl(self, *arguments: str, auth: bool = True) -> str:
        """Run curl with a path as its last argument."""
        version = subprocess.run(["curl", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
        self.clients.add(f"curl {version}")
        login = ["-u", f"{USER}:{PASSWORD}"] if auth else []
        return self.run("curl", "-sS", "-g", *login, *arguments[:-1], self.at + arguments[-1])

    def file_names(self) -> list[str]:
        """Return file names as people choose them; all those of the corpus of WebDAV."""
        return [name for name in FILES if name not in HARD and "/" not in name]

    def close(self) -> None:
        """Stop everything."""
        self._stack.close()


@contextmanager
def session(name: str, programs: Path, folder: Path, tape: Tape) -> Iterator[Session]:
    """Yield the session of one program; its contents are the same each time."""
    folder.mkdir(parents=True)
    opened = Session(name, programs, folder, tape, Content(Random(name)))  # noqa: S311 - the same contents each time
    try:
        yield opened
    finally:
        opened.close()


def segment(text: str) -> str:
    """Percent-encode a segment of a path as browsers do."""
    return quote(text, safe="!'()*~")
