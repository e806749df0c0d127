"""Newest rows of the access log at one domain, at bounded cost: hosts below a wildcard domain have no index."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from audit.models import AccessLog
from audit.querying import keyset

SCANS = 10
"""Rows that are scanned for each row that is wanted below a wildcard domain."""


def rows_at(name: str, rows: QuerySet[AccessLog]) -> tuple[QuerySet[AccessLog], Q]:
    """Return the rows to scan for a domain, and the condition to test each of them with, as ``keyset`` takes them."""
    if name.startswith("*."):
        return rows, Q(host__endswith=name.removeprefix("*"))
    return rows.filter(host=name), Q()


def newest_values(
    name: str, rows: QuerySet[AccessLog], columns: Collection[str], most: int
) -> tuple[list[Any], datetime | None]:
    """Return columns (time first) of at most ``most`` rows, newest first, and since when these are all; None: always.

    Hosts of another registered domain below a wildcard are among them.
    """
    scanned, rest = rows_at(name, rows)
    return keyset.newest_values(scanned, rest, columns, budget=SCANS * most, most=most)
