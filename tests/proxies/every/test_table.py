"""The table in docs/proxies/README.md has exactly the existing checks."""

from tests.proxies.every import table
from tests.proxies.every.kinds import KINDS


def test_table_in_the_docs_is_current():
    _, _, rest = table.PAGE.read_text(encoding="utf-8").partition(table.BEGIN)
    written, end, _ = rest.partition(table.END)

    assert end
    assert written == table.rendered(table.all_passed()), "python -m tests.proxies.every.table writes it"


def test_every_note_names_existing_checks_and_proxies():
    there = {name for names in table.checks().values() for name in names}

    assert set(table.NOTES) <= there
    assert all(set(kinds) <= set(KINDS) for kinds, _, _ in table.NOTES.values())


def test_a_check_that_fails_for_one_proxy_is_seen():
    outcomes = table.all_passed() | {("test_sign_in_journey", list(KINDS)[-1]): False}

    (row,) = [line for line in table.rendered(outcomes).splitlines() if line.startswith("| Sign in journey")]
    assert row.endswith("| yes | **FAILED** |")
