"""Names of policy segments: blocklists by source, large kinds in shards. A change rewrites only what it touches.

Kinds with up to a hundred thousand rows are split into shards, found by the row's key; changing a user or token
rewrites one shard.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gatewall.engine.snapshot import Segment

_BLOCKED = "blocked-networks/"


def blocked_networks_of(source: str) -> str:
    """Return the segment of a source's blocklist entries; a ban does not touch the segment of a large import."""
    return _BLOCKED + source


def source_of(segment: str) -> str | None:
    """Return the source of a blocklist segment, None for other segments."""
    return segment.removeprefix(_BLOCKED) if segment.startswith(_BLOCKED) else None


USERS_A_SHARD = 4096
DIGEST_SHARDS = "0123456789abcdef"
"""Shards of rows keyed by a SHA-256 digest: by its first hexadecimal digit."""


def shard_of_user(user_id: int) -> str:
    """Return the shard of a user."""
    return f"users/{user_id // USERS_A_SHARD}"


def shard_of_git_token(digest: str) -> str:
    """Return the shard of a git token."""
    return f"git-tokens/{digest[:1]}"


def shard_of_app_token(digest: str) -> str:
    """Return the shard of an app token."""
    return f"app-tokens/{digest[:1]}"


def shard_of_license(digest: str) -> str:
    """Return the shard of a license."""
    return f"licenses/{digest[:1]}"


SHARD_OF: Mapping[str, Callable[[Any], str]] = {
    Segment.USERS: shard_of_user,
    Segment.GIT_TOKENS: shard_of_git_token,
    Segment.APP_TOKENS: shard_of_app_token,
    Segment.LICENSES: shard_of_license,
}
"""Sharded kinds, and the shard of a row's key. Changing the kind's own segment changes all its shards."""


def kind_of(segment: str) -> str:
    """Return the kind of rows in a segment: a shard's kind, else the segment itself."""
    kind, slash, _ = segment.partition("/")
    return kind if slash and kind in SHARD_OF else segment


NAMES_DOMAINS = (
    Segment.DOMAINS,
    Segment.ALLOWED_NETWORKS,
    Segment.WAF_RULES,
    Segment.GROUPS,
    Segment.ACCESS_RULES,
    Segment.GRANTS,
    Segment.SHARE_LINKS,
    Segment.DEVICE_PASSES,
    Segment.USERS,
    Segment.APP_TOKENS,
    Segment.LICENSES,
)
"""Segments that contain names of registered domains."""
