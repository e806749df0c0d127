"""What the list of users can be filtered by."""

from django.core.exceptions import ValidationError

from gatewall.api.filters import Filters, ListFilters, at_or_after, before, flag, text
from gatewall.engine.addresses import parse_address
from policies.validators import canonical_domain


def _address(spelling: str) -> str:
    address = parse_address(spelling)
    if address is None:
        raise ValidationError("an IP address", "invalid")
    return str(address)


class UserFilters(ListFilters):
    """Filters of the users."""

    username = text("username", max_length=64, lookup="iexact")
    email = text("email", max_length=254, lookup="iexact")
    is_admin, is_active, all_domains = flag("is_admin"), flag("is_active"), flag("all_domains")
    totp_enabled = flag("totp_enabled")
    authorized_domain = text("authorized_domains__name", max_length=255, parse=canonical_domain)
    last_login_at_after, last_login_at_before = at_or_after("last_login_at"), before("last_login_at")


class SessionFilters(Filters):
    """Filters of a user's sessions."""

    client_ip = text("client_ip", max_length=64, parse=_address)
    issued_at_after, issued_at_before = at_or_after("issued_at"), before("issued_at")
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")
