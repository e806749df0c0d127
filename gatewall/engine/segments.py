"""How segments are cut and found: by source, in shards. A change rewrites the segments it touches, no others.

Rows that there may be a hundred thousand of are cut into shards: a segment for each, which a look-up finds by the
key. A changed user or token rewrites one of them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gatewall.engine.snapshot import Segment

_BLOCKED = "blocked-networks/"


def blocked_networks_of(source: str) -> str:
    """Return the segment of the blocklist entries of one source: a large import stays untouched by a ban."""
    return _BLOCKED + source


def source_of(segment: str) -> str | None:
    """Return the source whose blocklist entries the segment holds, None for any other segment."""
    return segment.removeprefix(_BLOCKED) if segment.startswith(_BLOCKED) else None


USERS_A_SHARD = 4096
DIGEST_SHARDS = "0123456789abcdef"
"""The shards of what is found by its digest (SHA-256 in lower-case hex): by the first letter."""


def shard_of_user(user_id: int) -> str:
    """Return the segment that holds the user of this id."""
    return f"users/{user_id // USERS_A_SHARD}"


def shard_of_git_token(digest: str) -> str:
    """Return the segment that holds the git token of this digest."""
    return f"git-tokens/{digest[:1]}"


def shard_of_license(digest: str) -> str:
    """Return the segment that holds the license of this digest."""
    return f"licenses/{digest[:1]}"


SHARD_OF: Mapping[str, Callable[[Any], str]] = {
    Segment.USERS: shard_of_user,
    Segment.GIT_TOKENS: shard_of_git_token,
    Segment.LICENSES: shard_of_license,
}
"""The segments that are in shards, and which shard the row of a key is in. Who changes the segment changes them all."""


def kind_of(segment: str) -> str:
    """Return what a segment holds rows of: for a shard the segment that it is of, for any other its own name."""
    kind, slash, _ = segment.partition("/")
    return kind if slash and kind in SHARD_OF else segment


NAMES_DOMAINS = (
    Segment.DOMAINS,
    Segment.ALLOWED_NETWORKS,
    Segment.WAF_RULES,
    Segment.USERS,
    Segment.LICENSES,
)
"""The segments in which a registered domain is named."""
