"""Compile the built-in WAF patterns once for all tests of this checkout."""

from functools import cache
from pathlib import Path

from gatewall.engine.waf import vector
from gatewall.engine.waf.scanning import Scanner
from gatewall.engine.waf.some_patterns import FILE_PATTERNS, PATTERNS, TEXT_PATTERNS
from gatewall.engine.waf.vector import AVAILABLE, VectorScanner
from gatewall.kernel.env import Config
from gatewall.snapshot import pattern_cache
from gatewall.snapshot.host_paths import policy_files
from gatewall.snapshot.pattern_cache import PatternCache, name_of

SHARED = Path(__file__).resolve().parents[2] / ".pytest_cache" / "patterns"
_BUILTIN = (PATTERNS, TEXT_PATTERNS, FILE_PATTERNS)
_KEY = b"the tests of this checkout"
_compile, _in_memory = pattern_cache._compiled, PatternCache._in_memory
_compiled = vector._compiled


def put_compiled(config: Config) -> None:
    """Write the compiled built-in patterns into the home of an installation, for its first worker."""
    if AVAILABLE:
        installed = policy_files(config).patterns
        for patterns in _BUILTIN:
            name = name_of(patterns)
            with installed._compile_lock(name):
                installed._keep(name, _builtin(patterns))


def compile_here(patterns: tuple[bytes, ...]) -> bytes:
    """Return a compiled pattern database without a child process; that of the built-in ones is shared."""
    return _builtin(patterns) if patterns in _BUILTIN else VectorScanner.compiled(patterns).dumped()


def in_memory(cache: PatternCache, name: str) -> Scanner | None:
    """Replace ``PatternCache._in_memory``: every host in this process has the built-in patterns in memory.

    Writing and reading a file of them for each test would take 40 ms of CPU.
    """
    patterns = _builtin_names().get(name)
    return _in_memory(cache, name) if patterns is None else _builtin_scanner(patterns)


def share_builtin() -> None:
    """Share the compiled built-in patterns, also with gate threads that outlive their test; compiling takes 8 s."""
    pattern_cache._compiled = _builtin_or_compiled


def _builtin_or_compiled(patterns: tuple[bytes, ...]) -> bytes:
    return _builtin(patterns) if patterns in _BUILTIN else _compile(patterns)


def scanner_of(patterns: tuple[bytes, ...]) -> VectorScanner:
    """Return a scanner for ``vector._compiled``; built-in patterns are loaded, because compiling takes 5 s."""
    return _builtin_scanner(patterns) if patterns in _BUILTIN else _compiled(patterns)


@cache
def _builtin_names() -> dict[str, tuple[bytes, ...]]:
    return {name_of(patterns): patterns for patterns in _BUILTIN}


@cache
def _builtin_scanner(patterns: tuple[bytes, ...]) -> VectorScanner:
    return VectorScanner.loaded(_builtin(patterns))


@cache
def _builtin(patterns: tuple[bytes, ...]) -> bytes:
    shared, name = PatternCache(SHARED, _KEY), name_of(patterns)
    with shared._compile_lock(name):
        found = shared._loaded(name, patterns)
        if found is None:
            shared._keep(name, _compile(patterns))
            found = shared._loaded(name, patterns)
    assert isinstance(found, VectorScanner)
    return found.dumped()
