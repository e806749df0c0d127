"""No session state of PostgreSQL outlives its transaction: a pooler may share the session (docs/scaling.md)."""

import re

import pytest

from tests.architecture.test_contracts import PACKAGES, named, sources

DIRECT = {
    "gatewall/management/commands/migrate.py",
    "gatewall/database/online_index.py",
    "gatewall/install/backup/revoked.py",
}
"""Migrations, which bypass the pooler, and temporary tables that a restore drops in the same transaction."""
OF_SESSIONS = re.compile(
    r"""["'](SET (?!LOCAL |TRANSACTION )[a-z_]+ (TO|=) |SET SESSION)|["' ](RESET [a-z_]+|LISTEN |NOTIFY |"""
    r"""PREPARE |CREATE TEMP|pg_(try_)?advisory_lock|pg_advisory_unlock|set_config\([^)]*false)"""
)


def test_no_statement_of_ours_changes_a_session():
    found = {named(path): OF_SESSIONS.findall(path.read_text()) for path in sources(*PACKAGES)}
    assert {name for name, statements in found.items() if statements} == DIRECT


@pytest.mark.parametrize(
    ("statement", "is_found"),
    [
        ('"SET lock_timeout TO 1"', True),
        ('"SELECT pg_advisory_lock(1)"', True),
        ('"CREATE TEMP TABLE x ()"', True),
        ('"SET LOCAL lock_timeout TO 1"', False),
        ('"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"', False),
        ('"SELECT pg_advisory_xact_lock(1)"', False),
    ],
)
def test_statements_that_change_a_session_are_recognized(statement, is_found):
    assert bool(OF_SESSIONS.search(statement)) is is_found
