"""Every attack in the table of docs/security.md has a test, and the test exists."""

import re
from pathlib import Path

from tests.docs.test_tables import rows, words

TESTS = Path(__file__).resolve().parents[1]


def test_every_test_that_the_table_of_attacks_names_exists():
    places = [*TESTS.glob("integration/test_provider_*.py"), TESTS / "api" / "test_identity_providers.py"]
    known = {name for path in places for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)}
    table = rows("security.md", "## Identity providers")

    assert len(table) >= 12
    assert [attack for attack, _defense, tests in table if not words(tests)] == []
    assert [name for *_, tests in table for name in words(tests) if name not in known] == []
