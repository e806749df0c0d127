"""Path patterns of access rules: exact, prefix and glob, compared by whole segments. No I/O.

Paths are latin-1 texts of decoded bytes, without trailing slashes: every pattern treats ``/admin/`` as ``/admin``.
"""

from collections.abc import Callable, Sequence

from gatewall.engine.access_rules.rules import PathMatch, PathPattern

_ANY, _ANY_NUMBER = "*", "**"


def covers(prefixes: Sequence[str], path: str) -> bool:
    """True if a trimmed path is at or below one of the prefixes."""
    return any(compiled(PathPattern(PathMatch.PREFIX, prefix))(path) for prefix in prefixes)


def trimmed(path: str) -> str:
    """Return a path without trailing slashes."""
    return path.rstrip("/") or "/"


def compiled(pattern: PathPattern) -> Callable[[str], bool]:
    """Return the predicate of a pattern: True for a trimmed path that matches."""
    value = _text_of(pattern)
    if _has_wildcard(pattern):
        wanted, begin = tuple(_segments(value)), literal_start(pattern).rstrip("/")
        return lambda path: path.startswith(begin) and _matches(wanted, _segments(path))
    return _prefix(value) if pattern.match is PathMatch.PREFIX else value.__eq__


def literal_start(pattern: PathPattern) -> str:
    """Return the longest path that every path of the pattern is equal to or below."""
    segments = []
    for segment in _segments(_text_of(pattern)):
        if pattern.match is PathMatch.GLOB and segment in {_ANY, _ANY_NUMBER}:
            break
        segments.append(segment)
    return "/" + "/".join(segments)


def ancestors(path: str, most: int) -> list[str]:
    """Return ``/``, and the path up to each of its first segments, at most this many: ``/``, ``/a``, ``/a/b``."""
    found, end = ["/"], 0
    for _ in range(most):
        end = path.find("/", end + 1)
        if end < 0:
            if path != "/":
                found.append(path)
            break
        found.append(path[:end])
    return found


def depth(path: str) -> int:
    """Return the number of segments of a trimmed path."""
    return len(_segments(path))


def _text_of(pattern: PathPattern) -> str:
    return trimmed(pattern.value.encode("utf-8").decode("latin-1"))


def _has_wildcard(pattern: PathPattern) -> bool:
    return pattern.match is PathMatch.GLOB and not {_ANY, _ANY_NUMBER}.isdisjoint(_segments(pattern.value))


def _prefix(value: str) -> Callable[[str], bool]:
    if value == "/":
        return lambda _: True
    below = value + "/"
    return lambda path: path == value or path.startswith(below)


def _segments(path: str) -> list[str]:
    return path[1:].split("/") if path != "/" else []


def _matches(wanted: Sequence[str], segments: Sequence[str]) -> bool:
    """Match a glob in time linear in the product of both lengths: only the last ``**`` is ever tried again."""
    position = at = 0
    retry, retry_at = -1, 0
    while at < len(segments):
        if position < len(wanted) and wanted[position] == _ANY_NUMBER:
            retry, retry_at = position, at
            position += 1
        elif position < len(wanted) and _is_segment(wanted[position], segments[at]):
            position, at = position + 1, at + 1
        elif retry >= 0:
            retry_at += 1
            position, at = retry + 1, retry_at
        else:
            return False
    return all(each == _ANY_NUMBER for each in wanted[position:])


def _is_segment(wanted: str, segment: str) -> bool:
    return bool(segment) if wanted == _ANY else wanted == segment
