"""Scanner for a subset of the built-in patterns, such as those that inspect texts. No I/O."""

from collections.abc import Sequence

from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.builtin.regions import IN_FILE, IN_TEXT
from gatewall.engine.waf.canaries import misread
from gatewall.engine.waf.lines import on_one_line
from gatewall.engine.waf.patterns import Placed
from gatewall.engine.waf.rules import BodyRegion
from gatewall.engine.waf.scanning import OneByOne, Scanner, Scanners

PATTERNS = tuple([on_one_line(rule.pattern).encode("ascii") for rule in BUILTIN_RULES])
"""All patterns in one database, whichever rules are enabled."""
TEXT_PATTERNS = tuple([PATTERNS[number] for number in IN_TEXT])
"""The patterns for texts and files: a quarter of the cost of all."""
FILE_PATTERNS = tuple([PATTERNS[number] for number in IN_FILE])
"""The few patterns for files alone."""
_IN_TEXT = frozenset(IN_TEXT)


def is_retargeted(number: int | None, placed: Placed) -> bool:
    """True if the operator added the body to the targets of a rule that the scan of texts leaves out."""
    return number not in _IN_TEXT and BodyRegion.TEXT in placed.targets


class SomePatterns:
    """A subset of the patterns by number, and its scanner: RE2, until and unless a compiled scanner is ready."""

    def __init__(self, numbers: Sequence[int], scanners: Scanners | None) -> None:
        """Use RE2 until ``scanners`` has a scanner that reads the canaries as RE2 does."""
        self.numbers = numbers
        self._patterns = tuple([PATTERNS[number] for number in numbers])
        self.scanner: Scanner = OneByOne(self._patterns)
        self.is_distrusted = False
        if scanners is not None:
            scanners.want(self._patterns, self._use)

    @property
    def is_by_re2(self) -> bool:
        return isinstance(self.scanner, OneByOne)

    def _use(self, scanner: Scanner) -> None:
        if self._reads_as_re2(scanner):
            self.scanner = scanner
        else:
            self.is_distrusted = True

    def check(self) -> None:
        """Fall back to RE2 if the scanner fails the canaries."""
        if not (self.is_by_re2 or self._reads_as_re2(self.scanner)):
            self.scanner = OneByOne(self._patterns)
            self.is_distrusted = True

    def _reads_as_re2(self, scanner: Scanner) -> bool:
        return not (scanner.left_out or misread(scanner, self._patterns))
