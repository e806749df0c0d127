"""Reads the rows of every app into one policy source, as of one moment of the database."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.utils import timezone

from accounts import policy_source as accounts
from gatewall import revisions, system_settings
from gatewall.engine.snapshot import PolicySource
from licensing import policy_source as licensing
from policies import policy_source as policies


def compile_policy() -> PolicySource:
    """Return the policy that the committed rows make up."""
    with _one_moment():
        return PolicySource(
            version=revisions.current(),
            settings=system_settings.load(),
            blocked_networks=policies.blocked_networks(),
            allowed_networks=policies.allowed_networks(),
            domains=policies.domains(),
            blocked_countries=policies.blocked_countries(),
            waf_rules=policies.waf_rules(),
            users=accounts.users(),
            git_tokens=licensing.git_tokens(),
            licenses=licensing.licenses(),
            revoked_sessions=accounts.revoked_sessions(timezone.now()),
        )


@contextmanager
def _one_moment() -> Iterator[None]:
    """Read everything as of one moment, without keeping writers out."""
    if connection.in_atomic_block:
        yield  # the caller's transaction is the moment
    elif connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            # Django's own transactions are IMMEDIATE here and would wait for writers; a deferred one
            # reads the state at its first statement (WAL).
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("COMMIT")
    else:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
