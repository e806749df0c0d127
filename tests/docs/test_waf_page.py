"""docs/waf.md describes every built-in rule as the rule does."""

from pathlib import Path

from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.reading import MAX_BODY, MAX_HEADER, MAX_HEADERS, MAX_SEPARATE, MAX_URI

PAGE = (Path(__file__).parents[2] / "docs" / "waf.md").read_text()


def row(rule):
    targets = ", ".join(target.value for target in rule.targets)
    return f"| `{rule.key}` | {rule.category} | {rule.severity} | {rule.score} | {targets} | {rule.reason} |"


def test_the_table_has_exactly_one_row_for_every_built_in_rule():
    rows = [line for line in PAGE.splitlines() if line.startswith("| `") and line.count("|") == 7]

    assert rows == [row(rule) for rule in BUILTIN_RULES]


def test_documented_limits_are_those_of_the_code():
    kib = 1024
    assert (32 * kib, 8 * kib, 64 * kib, 64 * kib, 40) == (MAX_URI, MAX_HEADER, MAX_HEADERS, MAX_BODY, MAX_SEPARATE)
    assert "URI over 32 KiB" in PAGE
    assert "a header over 8 KiB" in PAGE
    assert "40 arguments" in PAGE
