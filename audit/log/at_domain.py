"""Newest rows of the access log at one domain, at bounded cost: hosts below a wildcard domain have no index."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from audit.models import AccessLog
from audit.querying import keyset

SCANS = 10
"""Maximum number of rows that are scanned for each requested row below a wildcard domain."""


def rows_at(name: str, rows: QuerySet[AccessLog]) -> tuple[QuerySet[AccessLog], Q]:
    """Return the rows to scan for a domain and the condition to test each row with: the arguments of ``keyset``."""
    if name.startswith("*."):
        return rows, Q(host__endswith=name.removeprefix("*"))
    return rows.filter(host=name), Q()


def newest_values(
    name: str, rows: QuerySet[AccessLog], columns: Collection[str], most: int
) -> tuple[list[Any], datetime | None]:
    """Return columns (time first) of at most ``most`` newest rows, and since when these are complete (None: always).

    Below a wildcard domain, hosts that belong to another registered domain are included.
    """
    scanned, rest = rows_at(name, rows)
    return keyset.newest_values(scanned, rest, columns, budget=SCANS * most, most=most)
