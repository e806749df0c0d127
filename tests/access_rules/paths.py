"""Paths: every reading that some server may have of one, and the patterns of rules."""

import re
from collections.abc import Callable
from functools import lru_cache


def decoded(path: str) -> str:
    """Decode each ``%XX`` once. A character stands for a byte."""
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), path)


def decoded_but_slashes(path: str) -> str:
    """Decode each ``%XX`` once, but keep escaped slashes."""
    return re.sub(r"%(?!2[Ff])([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), path)


def decoded_wide(path: str) -> str:
    """Decode each ``%uXXXX`` once, to the bytes of its UTF-8."""
    return re.sub(r"%u([0-9A-Fa-f]{4})", lambda found: as_bytes(chr(int(found[1], 16))), path)


def with_backslashes_as_slashes(path: str) -> str:
    """Read a backslash as a slash."""
    return path.replace("\\", "/")


def merged(path: str) -> str:
    """Merge repeated slashes."""
    return re.sub("/+", "/", path)


def resolved(path: str) -> str:
    """Resolve ``.`` and ``..`` as RFC 3986, section 5.2.4."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            kept = kept[:-1]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept)


def without_parameters(path: str) -> str:
    """Drop what follows a ``;`` in each segment."""
    return re.sub(";[^/]*", "", path)


def without_authority(path: str) -> str:
    """Read ``//host/path`` as a URL without a scheme, however many slashes it begins with."""
    return re.sub("^//+[^/]*/?", "/", path)


def without_query(path: str) -> str:
    """End the path at ``?``, ``#`` or a null byte."""
    return re.sub("[?#\0].*", "", path, flags=re.DOTALL)


OPERATIONS: tuple[Callable[[str], str], ...] = (
    *(decoded, decoded_but_slashes, decoded_wide, with_backslashes_as_slashes),
    *(merged, resolved, without_parameters, without_authority, without_query),
)
DECODING = {decoded, decoded_but_slashes}


@lru_cache(maxsize=200_000)
def readings_of(uri: str) -> tuple[str, ...]:
    """All readings of the path of ``uri``: its closure under the operations in which servers differ, sorted.

    Every server decodes a path at least once: what was not decoded yet is no reading.
    """
    found = {(uri.partition("?")[0], False)}
    fresh = set(found)
    while fresh:
        fresh = {
            (operation(path), is_decoded or operation in DECODING)
            for path, is_decoded in fresh
            for operation in OPERATIONS
        } - found
        found |= fresh
    return tuple(sorted(path for path, is_decoded in found if is_decoded))


@lru_cache(maxsize=200_000)
def path_covers(match: str, value: str, reading: str) -> bool:
    """Compare the value of a rule, as its UTF-8 bytes, with one reading of a path.

    Case counts, slashes at the end do not.
    """
    value, reading = as_bytes(value).rstrip("/"), reading.rstrip("/")
    if match == "exact":
        return reading == value
    if match == "prefix":
        return f"{reading}/".startswith(f"{value}/")
    return _glob_covers(value.split("/"), reading.split("/"))


def _glob_covers(pattern: list[str], segments: list[str]) -> bool:
    """``*`` is one segment that is not empty, ``**`` any number of segments."""
    if not pattern:
        return not segments
    if pattern[0] == "**":
        return any(_glob_covers(pattern[1:], segments[skipped:]) for skipped in range(len(segments) + 1))
    if not segments:
        return False
    same = segments[0] != "" if pattern[0] == "*" else segments[0] == pattern[0]
    return same and _glob_covers(pattern[1:], segments[1:])


def as_bytes(text: str) -> str:
    """The UTF-8 bytes of ``text``, one character per byte."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")
