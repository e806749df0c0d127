"""Group paths: ids become wildcards, and deep paths are cut. Pure."""

import re
from functools import lru_cache

_ID = re.compile(
    r"\d+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?=[a-f]*\d)[0-9a-f]{8,}|(?=[A-Za-z_-]*\d)[\w-]{20,}",
    re.IGNORECASE | re.ASCII,
)
_SEGMENTS = 2


def without_ids(path: str) -> tuple[str, ...]:
    """Return the segments of a path, with ``*`` for each id after the first segment."""
    segments = [segment for segment in path.split("/") if segment]
    return tuple(["*" if place and _ID.fullmatch(segment) else segment for place, segment in enumerate(segments)])


@lru_cache(maxsize=4096)
def path_group(path: str) -> str:
    """Return the group of a path, as a glob: its first two segments without ids, and ``/**`` for any more."""
    segments = without_ids(path)
    return "/" + "/".join(segments[:_SEGMENTS]) + ("/**" if len(segments) > _SEGMENTS else "")
