"""Record peers whose forwarding headers were ignored: proxies that are not configured as trusted. Pure."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gatewall.gate.subrequest import Subrequest
from gatewall.kernel.clientip import TrustedProxies
from gatewall.kernel.file_io import remove_if_forgotten, replace_file

FOLDER = "untrusted"
_EVERY_SECONDS = 60.0
_FORWARDING_HEADERS = frozenset({"x-forwarded-for", "x-forwarded-host", "x-original-url"})
_LONGEST_PEER = 64


class UntrustedPeers:
    """Writes the last untrusted peer of this process to a small file, at most once a minute. Never raises."""

    def __init__(self, folder: Path, trusted: TrustedProxies) -> None:
        self._folder = folder
        self._trusted = trusted
        self._next_at = 0.0

    def observe(self, subrequest: Subrequest) -> None:
        """Record the peer if it sends forwarding headers and is not trusted."""
        if self._trusted.trusts_peer(subrequest.peer) or _FORWARDING_HEADERS.isdisjoint(subrequest.headers):
            return
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + _EVERY_SECONDS
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            note = json.dumps({"peer": subrequest.peer[:_LONGEST_PEER]})
            replace_file(self._folder / str(os.getpid()), note.encode(), synced=False)


def take_notes(folder: Path) -> Iterator[str]:
    """Yield the peers noted since the last call, and delete their notes."""
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        if path.name.startswith("."):
            with suppress(OSError):
                remove_if_forgotten(path)
            continue
        with suppress(OSError, ValueError, TypeError, KeyError):
            text = path.read_bytes()
            path.unlink()
            yield str(json.loads(text)["peer"])
