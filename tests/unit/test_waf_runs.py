"""A run of one character before or within an attack hides no RE2 match from hyperscan."""

import pytest

from gatewall.engine.waf import vector
from gatewall.engine.waf.canaries import passes_canaries
from gatewall.engine.waf.scanning import OneByOne
from gatewall.engine.waf.some_patterns import PATTERNS
from tests.corpora.payloads import PAYLOADS
from tests.support.patterns import scanner_of

CHARACTERS = " \t\r\f()/;'*-=a1<.\\&\",_{%+:|$`"
LENGTHS = (12, 16, 20, 40, 70)
TEXTS = sorted({text.replace("\n", " ") for texts in PAYLOADS.values() for text in texts if text})


@pytest.mark.no_cover
@pytest.mark.skipif(not vector.AVAILABLE, reason="there is no wheel of hyperscan for this machine")
@pytest.mark.parametrize("character", CHARACTERS)
def test_run_of_a_character_hides_no_match_of_re2(character):
    scanner, plain = scanner_of(PATTERNS), OneByOne(PATTERNS)
    hidden = []
    for number, text in enumerate(TEXTS):
        place = 0 if number % 2 else number % (len(text) + 1)
        data = (text[:place] + character * LENGTHS[number % len(LENGTHS)] + text[place:]).encode("latin-1", "replace")
        if {number for number, _ in scanner.scan(data)} != {number for number, _ in plain.scan(data)}:
            hidden.append(data)

    assert hidden == []


def test_scanner_that_misses_attacks_after_a_run_of_blanks_is_not_trusted():
    class Misses:
        left_out = frozenset()

        def scan(self, text):
            return [] if text.startswith((b" " * 16, b"\t" * 16)) else OneByOne(PATTERNS).scan(text)

    assert passes_canaries(OneByOne(PATTERNS))
    assert not passes_canaries(Misses())
