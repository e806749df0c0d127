"""Names of headers that can tell a site who the visitor is. No I/O."""

_FAMILIES = ("Remote", "X-Forwarded", "X-Webauth", "X-Remote", "X-Auth-Request")
USER_HEADERS, EMAIL_HEADERS, GROUPS_HEADERS = (
    tuple(f"{family}-{value}" for family in _FAMILIES) for value in ("User", "Email", "Groups")
)
KNOWN_HEADERS = tuple(name for each in zip(USER_HEADERS, EMAIL_HEADERS, GROUPS_HEADERS, strict=True) for name in each)
"""All names, one family after the other. Each sample for a proxy removes and copies every one of them."""
DEFAULT_HEADERS = ("Remote-User", "Remote-Email", "Remote-Groups")
