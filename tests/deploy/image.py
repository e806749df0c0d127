"""The image as plain processes: its files and its environment, a read-only root, a user other than root."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gatewall.install.ports import free_port
from gatewall.kernel.env import ConfigError
from tests.deploy import dockerfile, jail
from tests.support.not_run import not_run
from tests.support.patterns import put_compiled
from tests.support.processes import PASSWORD, PATIENCE, Process, configuration, running, wait_until

_NO_JAIL = 70
HEALTH_SECONDS = 1.0
"""Between two health checks, each of which is an interpreter of 0.2 s of CPU."""
_JAIL = Path(jail.__file__)


class Image:
    """The laid out image, with one state folder."""

    def __init__(self, root: Path, memory: str) -> None:
        self._memory = memory
        self.place = root / "opt" / "gatewall"
        self.state = root / "state"
        self.logs = root / "logs"
        self.control, self.auth = free_port(), free_port()
        for folder in (self.place / ".venv", self.state, self.logs):
            folder.mkdir(parents=True)
        dockerfile.lay_out(self.place)
        for folder in (root, *root.rglob("*/")):  # whatever the umask of the test run
            folder.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(self.state, jail.USER, jail.USER)
        self.state.chmod(0o700)

    def environment(self, **changes: str) -> dict[str, str]:
        """Return the environment of the image, with ports of its own on loopback; only PATH is that of this process."""
        return {
            "PATH": os.environ["PATH"],
            **dockerfile.settings(),
            "GATEWALL_HOME": str(self.state),
            "GATEWALL_BIND": "127.0.0.1",
            "GATEWALL_PORT": str(self.control),
            "GATEWALL_AUTH_PORT": str(self.auth),
            "GATEWALL_ADMIN_PASSWORD": PASSWORD,
            **changes,
        }

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of the entrypoint with these arguments, inside the jail."""
        return self.inside(str(self.place / "deploy/docker/entrypoint"), *arguments)

    def inside(self, *command: str) -> list[str]:
        """Return the command line of any command, inside the jail."""
        folders = [str(self.state), str(self.place / ".venv"), sys.prefix, self._memory]
        return [sys.executable, str(_JAIL), *folders, *command]

    def run(self, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        """Run a role to its end."""
        return self.call(self.command(*arguments), self.environment(**changes))

    def call(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a command of the jail to its end, from a working directory other than the image's."""
        return subprocess.run(
            command, cwd="/", env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def put_patterns(self) -> None:
        """Compile the WAF patterns of an image with keys, as the tests do once for all installations."""
        put_patterns(self.state)

    @contextmanager
    def up(self, role: str, *, healthy: str = "", **changes: str) -> Iterator[Process]:
        """Run a role as a process; yield once its health check succeeds."""
        log = self.logs / f"{role}.log"
        with running(self.command(role), log=log, env=self.environment(**changes)) as process:
            wait_until(
                lambda: process.poll() is not None or self.run("health", healthy or role, **changes).returncode == 0,
                what=f"{role} to be healthy",
                pause=HEALTH_SECONDS,
            )
            assert process.poll() is None, log.read_text()[-4000:]
            yield process


def put_patterns(state: Path) -> None:
    """Write the compiled WAF patterns into a state folder with keys, for the user of the image."""
    put_compiled(configuration(state))
    if os.geteuid() == 0:
        for each in (state / "policy", *(state / "policy").rglob("*")):
            os.chown(each, jail.USER, jail.USER)


@contextmanager
def patterns_after_keys(state: Path) -> Iterator[None]:
    """Write the compiled patterns as soon as a container has made its keys; compiling them would take 8 s of CPU.

    The first worker, which needs them, starts some seconds later.
    """
    ended = threading.Event()

    def put() -> None:
        while not ended.wait(0.05):
            with suppress(ConfigError, OSError), tempfile.TemporaryDirectory(dir=state.parent) as name:
                made = Path(name)
                shutil.copytree(state / "secrets", made / "secrets")
                put_patterns(made)
                (made / "policy").rename(state / "policy")  # whole, and owned by the user of the image
                return

    thread = threading.Thread(target=put)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def image(memory: str = "-") -> Iterator[Image]:
    """Yield a fresh image. Skip as NOT RUN, or fail on a build server, where the kernel forbids mounts."""
    # With its own tmpfs, files below /dev/shm of the machine are invisible inside.
    root = Path(tempfile.mkdtemp(prefix="gatewall-image-", dir=None if memory == "-" else "/var/tmp"))  # noqa: S108 - mkdtemp makes it private
    root.chmod(0o755)
    try:
        made = Image(root, memory)
        tried = made.call(made.inside("true"), made.environment())
        if tried.returncode == _NO_JAIL:
            not_run(f"no read-only root for the image ({tried.stderr.strip()})")
        assert tried.returncode == 0, tried.stderr
        yield made
    finally:
        shutil.rmtree(root, ignore_errors=True)
