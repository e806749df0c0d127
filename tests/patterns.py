"""The built-in patterns compiled once for all tests of this checkout; each installation of theirs gets a copy."""

from pathlib import Path

from gatewall.engine.waf.builtin_matcher import PATTERNS
from gatewall.engine.waf.vector import AVAILABLE, VectorScanner
from gatewall.env import Config
from gatewall.snapshot.pattern_cache import PatternCache, name_of
from gatewall.snapshot.places import policy_files

SHARED = Path(__file__).resolve().parents[1] / ".pytest_cache" / "patterns"
_KEY = b"the tests of this checkout"


def put_compiled(config: Config) -> None:
    """Leave under the home of an installation what its first worker would compile in seven seconds."""
    if AVAILABLE:
        name = name_of(PATTERNS)
        scanner = PatternCache(SHARED, _KEY).scanner(name, PATTERNS)
        assert isinstance(scanner, VectorScanner)
        installed = policy_files(config).patterns
        with installed._only_one(name):
            installed._keep(name, scanner.dumped())
