"""Cache of compiled hyperscan databases, one per host, kept as files. Pure.

Compiling takes seconds, so it runs in a thread and the caller uses RE2 until then. The first process compiles in a
subprocess, the others wait for its file.
"""

import atexit
import hashlib
import hmac
import json
import logging
import os
import platform
import subprocess
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock, Thread

from gatewall.engine.waf.canaries import misread
from gatewall.engine.waf.scanning import Scanner
from gatewall.engine.waf.vector import AVAILABLE, LAYOUT, VERSION, DatabaseRefused, VectorScanner
from gatewall.kernel.file_io import locked, replace_file

logger = logging.getLogger(__name__)

_PURPOSE = b"gatewall compiled patterns 1\n"
_SIGNATURE_BYTES = 32
_KEPT_IN_MEMORY = 6
_KEPT_FILES = 16
_MAX_BYTES = 512 * 1024 * 1024
_LONGEST_SECONDS = 3600
"""Timeout for a hung child. It limits its own CPU time, and with its low priority may get 1% of a busy host."""
_ROOT = Path(__file__).resolve().parents[2]
NO_ENGINE = "hyperscan is not available on this machine: RE2 is used, which is slower"
NOT_COMPILED = "patterns could not be compiled; RE2 is used instead"


class _Engine:
    """Lock of a thread inside the engine, whose C++ frames would abort a process that exits meanwhile."""

    lock = Lock()
    seconds = 10.0

    @classmethod
    def close(cls) -> None:
        """Wait until no thread is inside, and let none enter."""
        cls.lock.acquire(timeout=cls.seconds)

    @classmethod
    def reset(cls) -> None:
        """Drop the lock of a thread of the parent process."""
        cls.lock = Lock()


atexit.register(_Engine.close)
os.register_at_fork(after_in_child=_Engine.reset)


class PatternCache:
    """Cache of scanners in a folder of one host. Files must have our signature and match this processor."""

    def __init__(self, folder: Path, key: bytes) -> None:
        self._folder = folder
        self._key = key
        self._known: OrderedDict[str, Scanner] = OrderedDict()
        self._lock = Lock()
        self._is_warned = False
        self._failed: deque[str] = deque(maxlen=_KEPT_FILES)

    @property
    def trouble(self) -> str:
        """Reason why scanners are missing; empty if they are compiled or being compiled."""
        if not AVAILABLE:
            return NO_ENGINE
        return NOT_COMPILED if self._failed else ""

    def want(self, patterns: Sequence[bytes], ready: Callable[[Scanner], None]) -> None:
        """Call ``ready`` with a scanner for the patterns: at once if it is in memory, else from a thread."""
        if not AVAILABLE:
            if not self._is_warned:
                self._is_warned = True
                logger.warning("WAF: %s", NO_ENGINE)
            return
        name = name_of(patterns)
        if (scanner := self._in_memory(name)) is not None:
            ready(scanner)
        else:
            Thread(target=self._deliver, args=(name, tuple(patterns), ready), name="patterns", daemon=True).start()

    def _deliver(self, name: str, patterns: tuple[bytes, ...], ready: Callable[[Scanner], None]) -> None:
        try:
            scanner = self.scanner(name, patterns)
        except (DatabaseRefused, OSError, subprocess.SubprocessError) as error:
            if not self._failed:  # log once, not for each policy tried meanwhile
                logger.error("WAF: %s: %s", NOT_COMPILED, error)  # noqa: TRY400 - the message is enough
            if name not in self._failed:
                self._failed.append(name)
        else:
            with suppress(ValueError):
                self._failed.remove(name)
            with _Engine.lock:  # ``ready`` tests the scanner with the canaries
                ready(scanner)

    def scanner(self, name: str, patterns: tuple[bytes, ...]) -> Scanner:
        """Load or compile the scanner with this name; blocks. Raises DatabaseRefused, OSError, SubprocessError."""
        with self._compile_lock(name):
            if (found := self._in_memory(name)) is not None:
                return found  # another thread compiled it meanwhile
            found = self._loaded(name, patterns)
            if found is None:
                data = _compiled(patterns)
                found = _checked(data, patterns)
                self._keep(name, data)
            self._remember(name, found)
        return found

    def _in_memory(self, name: str) -> Scanner | None:
        with self._lock:
            if name in self._known:
                self._known.move_to_end(name)
            return self._known.get(name)

    def _remember(self, name: str, scanner: Scanner) -> None:
        """Add a scanner to memory; evict the least recently used."""
        with self._lock:
            self._known[name] = scanner
            while len(self._known) > _KEPT_IN_MEMORY:
                self._known.popitem(last=False)

    def _loaded(self, name: str, patterns: tuple[bytes, ...]) -> Scanner | None:
        """Load a scanner from disk; None if missing or unusable."""
        path = self._folder / name
        try:
            with path.open("rb") as file:
                signed = file.read(_MAX_BYTES)
            os.utime(path)  # least recently used files are swept
        except FileNotFoundError:
            return None
        signature, data = signed[:_SIGNATURE_BYTES], signed[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._signature(name, data)):
            logger.warning("WAF: compiled patterns %s have an invalid signature and are recompiled", name[:12])
            return None
        try:
            return _checked(data, patterns)
        except DatabaseRefused as error:
            logger.warning("WAF: compiled patterns %s cannot be used (%s): they are compiled again", name[:12], error)
            return None

    def _keep(self, name: str, data: bytes) -> None:
        for left in self._folder.glob(f".{name}.*"):
            left.unlink(missing_ok=True)  # of a killed process: we hold the lock of this name
        replace_file(self._folder / name, self._signature(name, data) + data, synced=False)
        files = [path for path in self._folder.iterdir() if not path.name.startswith(".")]
        for path in sorted(files, key=lambda path: path.stat().st_mtime)[:-_KEPT_FILES]:
            path.unlink(missing_ok=True)

    def _signature(self, name: str, data: bytes) -> bytes:
        return hmac.digest(self._key, _PURPOSE + name.encode() + b"\n" + data, hashlib.sha256)

    @contextmanager
    def _compile_lock(self, name: str) -> Iterator[None]:
        """Hold the lock for compiling this name on this host."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self._folder / f".{name[:2]}.lock"):
            yield


def name_of(patterns: Sequence[bytes]) -> str:
    """Return the cache key: a digest of the patterns, the engine's version and layout, and the processor."""
    digest = hashlib.sha256(f"{VERSION}\n{LAYOUT}\n{_processor()}\n".encode())
    for pattern in patterns:
        digest.update(b"%d:%b" % (len(pattern), pattern))
    return digest.hexdigest()


@cache
def _processor() -> str:
    """Return the processor's features: databases are compiled for them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()} {features}"


def _compiled(patterns: tuple[bytes, ...]) -> bytes:
    child = subprocess.run(
        [sys.executable, "-m", "gatewall.snapshot.pattern_process"],
        input=json.dumps([pattern.decode("latin-1") for pattern in patterns]).encode(),
        capture_output=True,
        cwd=_ROOT,
        timeout=_LONGEST_SECONDS,
        check=False,
    )
    if child.returncode != 0:
        raise DatabaseRefused(child.stderr.decode("utf-8", "replace").strip()[-300:] or f"exit code {child.returncode}")
    return child.stdout


def _checked(data: bytes, patterns: tuple[bytes, ...]) -> Scanner:
    """Load a scanner and check that it finds the canaries. Raises DatabaseRefused."""
    with _Engine.lock:
        scanner = VectorScanner.loaded(data)
        is_misread = misread(scanner, patterns)
    if is_misread:
        raise DatabaseRefused("it does not match its own patterns")
    return scanner
