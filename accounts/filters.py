"""Filters of rows by user name and address. The serializer modules define the filter sets."""

from django.core.exceptions import ValidationError
from django.db.models import CharField
from django.db.models.functions import Lower

from gatewall.api.filters import ValueFilter, text
from gatewall.engine.addresses import parse_address

CharField.register_lookup(Lower)


def address(spelling: str) -> str:
    """Return the canonical form of an IP address. Raises ValidationError."""
    found = parse_address(spelling)
    if found is None:
        raise ValidationError("an IP address", "invalid")
    return str(found)


def name_filter() -> ValueFilter:
    """Return a filter by user name, ignoring case, on the unique index (``iexact`` would scan the table)."""
    return text("username", max_length=64, lookup="lower", parse=str.lower)
