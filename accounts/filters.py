"""What the list of users can be filtered by."""

from gatewall.api.filters import ListFilters, at_or_after, before, flag, text
from policies.validators import canonical_domain


class UserFilters(ListFilters):
    """Filters of the users."""

    username = text("username", max_length=64, lookup="iexact")
    email = text("email", max_length=254, lookup="iexact")
    is_admin, is_active, all_domains = flag("is_admin"), flag("is_active"), flag("all_domains")
    authorized_domain = text("authorized_domains__name", max_length=255, parse=canonical_domain)
    last_login_at_after, last_login_at_before = at_or_after("last_login_at"), before("last_login_at")
