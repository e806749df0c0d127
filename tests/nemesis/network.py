"""A network namespace for a host: one link to its visitors, and one to its stores, which can be cut. Needs root."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self

_IP = shutil.which("ip")


def why_not() -> str:
    """Why there can be no namespaces here; nothing if there can."""
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
    """One that is there until the end of the block. The addresses are of 198.18.0.0/15, which is for benchmarks."""

    def __init__(self, number: int) -> None:
        # Two runs at a time on one machine have names and addresses of their own.
        mark = os.getpid() % 250
        self._name = f"gatewall-{mark}-{number}"
        self._links = {"front": f"gwf{mark}-{number}", "store": f"gws{mark}-{number}"}
        self._networks = {"front": f"198.18.{mark}.{number % 60 * 4}", "store": f"198.19.{mark}.{number % 60 * 4}"}
        self.inside = [_IP or "ip", "netns", "exec", self._name]

    @property
    def address(self) -> str:
        """Where visitors ask."""
        return self._at("front", 2)

    @property
    def visitors(self) -> str:
        """Where they come from."""
        return self._at("front", 1)

    @property
    def stores(self) -> str:
        """Where the host finds its stores."""
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
        with suppress(subprocess.CalledProcessError):  # its links go with it
            _ip("netns", "del", self._name)

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Take the link to the stores down until the end of the block: what is sent is lost, and nobody is told."""
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
