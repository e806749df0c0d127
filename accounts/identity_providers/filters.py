"""Filters of the list of identity providers."""

from gatewall.api.filters import ListFilters, flag, text


class IdentityProviderFilters(ListFilters):
    """Filters of the list of identity providers."""

    slug, name = text("slug", max_length=32), text("name", max_length=64)
    issuer, client_id = text("issuer", max_length=500), text("client_id", max_length=255)
    group_map_gives_admin, create_users = flag("group_map_gives_admin"), flag("create_users")
    link_verified_email, trust_amr = flag("link_verified_email"), flag("trust_amr")
    enabled, allow_private = flag("enabled"), flag("allow_private")
