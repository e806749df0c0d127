"""The segments that a policy is made of, by name. A change rewrites the segments it touches, no others."""

from enum import StrEnum


class Segment(StrEnum):
    """A part of the policy that is compiled, stored and loaded as a whole."""

    SETTINGS = "settings"
    DOMAINS = "domains"
    ALLOWED_NETWORKS = "allowed-networks"
    BLOCKED_COUNTRIES = "blocked-countries"
    WAF_RULES = "waf-rules"
    USERS = "users"
    GIT_TOKENS = "git-tokens"
    LICENSES = "licenses"
    REVOCATIONS = "revocations"


_BLOCKED = "blocked-networks/"


def blocked_networks_of(source: str) -> str:
    """Return the segment of the blocklist entries of one source: a large import stays untouched by a ban."""
    return _BLOCKED + source


def source_of(segment: str) -> str | None:
    """Return the source whose blocklist entries the segment holds, None for any other segment."""
    return segment.removeprefix(_BLOCKED) if segment.startswith(_BLOCKED) else None


NAMES_DOMAINS = (
    Segment.DOMAINS,
    Segment.ALLOWED_NETWORKS,
    Segment.WAF_RULES,
    Segment.USERS,
    Segment.LICENSES,
)
"""The segments in which a registered domain is named."""
