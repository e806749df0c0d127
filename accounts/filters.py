"""Filters of the list of users."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.db.models.lookups import Exact

from gatewall.api.filters import Filters, ListFilters, ValueFilter, at_or_after, before, flag, text
from gatewall.engine.addresses import parse_address
from policies.validators import canonical_domain

_LONGEST_NAME = 64


def address(spelling: str) -> str:
    """Return the canonical form of an IP address. Raises ValidationError."""
    found = parse_address(spelling)
    if found is None:
        raise ValidationError("an IP address", "invalid")
    return str(found)


class _NameFilter(ValueFilter):
    """Filter by user name, ignoring case, on the unique index (``iexact`` would scan the table)."""

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        return qs if value is None else qs.filter(Exact(Lower("username"), value))


def _lower_name(name: str) -> str:
    if len(name) > _LONGEST_NAME:
        raise ValidationError(f"at most {_LONGEST_NAME} characters", "max-length")
    return name.lower()


class UserFilters(ListFilters):
    """Filters of the list of users."""

    username = _NameFilter("username", parse=_lower_name, openapi={"type": "string", "maxLength": _LONGEST_NAME})
    email = text("email", max_length=254, lookup="iexact")
    is_admin, is_auditor, is_active = flag("is_admin"), flag("is_auditor"), flag("is_active")
    all_domains, totp_enabled = flag("all_domains"), flag("totp_enabled")
    authorized_domain = text("authorized_domains__name", max_length=255, parse=canonical_domain)
    group = text("groups__name", max_length=64)
    last_login_at_after, last_login_at_before = at_or_after("last_login_at"), before("last_login_at")


class SessionFilters(Filters):
    """Filters of a user's sessions."""

    client_ip = text("client_ip", max_length=64, parse=address)
    issued_at_after, issued_at_before = at_or_after("issued_at"), before("issued_at")
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")
