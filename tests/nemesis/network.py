"""A network namespace for a host: a link to its visitors, and a link to its stores that can be cut. Needs root."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self

_IP = shutil.which("ip")


def why_not() -> str:
    """Return why namespaces cannot be created here; empty if they can."""
    if os.geteuid() != 0:
        return "not root"
    if _IP is None:
        return "no ip command"
    try:
        with Namespace(250):
            return ""
    except subprocess.CalledProcessError as error:
        return f"ip: {error.stderr.strip()}"


class Namespace:
    """A namespace for the duration of the block, with addresses of 198.18.0.0/15 (benchmarks)."""

    def __init__(self, number: int) -> None:
        # Concurrent runs on one machine have different names and addresses.
        mark = os.getpid() % 250
        self._name = f"gatewall-{mark}-{number}"
        self._links = {"front": f"gwf{mark}-{number}", "store": f"gws{mark}-{number}"}
        self._networks = {"front": f"198.18.{mark}.{number % 60 * 4}", "store": f"198.19.{mark}.{number % 60 * 4}"}
        self.inside = [_IP or "ip", "netns", "exec", self._name]

    @property
    def address(self) -> str:
        """Return the host's address."""
        return self._at("front", 2)

    @property
    def visitors(self) -> str:
        """Return the visitors' address."""
        return self._at("front", 1)

    @property
    def stores(self) -> str:
        """Return the stores' address as seen from the host."""
        return self._at("store", 1)

    def __enter__(self) -> Self:
        _ip("netns", "add", self._name)
        try:
            self._inside("link", "set", "lo", "up")
            for kind, link in self._links.items():
                _ip("link", "add", link, "type", "veth", "peer", "name", kind, "netns", self._name)
                _ip("addr", "add", f"{self._at(kind, 1)}/30", "dev", link)
                _ip("link", "set", link, "up")
                self._inside("addr", "add", f"{self._at(kind, 2)}/30", "dev", kind)
                self._inside("link", "set", kind, "up")
        except subprocess.CalledProcessError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(subprocess.CalledProcessError):  # also deletes its links
            _ip("netns", "del", self._name)

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Take the link to the stores down during the block: packets are lost silently."""
        _ip("link", "set", self._links["store"], "down")
        try:
            yield
        finally:
            _ip("link", "set", self._links["store"], "up")

    def _at(self, kind: str, which: int) -> str:
        first, _, last = self._networks[kind].rpartition(".")
        return f"{first}.{int(last) + which}"

    def _inside(self, *words: str) -> None:
        _ip("-n", self._name, *words)


def _ip(*words: str) -> None:
    subprocess.run([_IP or "ip", *words], check=True, capture_output=True, text=True)
