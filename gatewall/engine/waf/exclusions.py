"""Exclusions of WAF rules: where a rule does not apply. No I/O."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from gatewall.engine.access_rules.paths import compiled
from gatewall.engine.access_rules.rules import PathMatch, PathPattern


class Part(StrEnum):
    """Kind of a named part of a request; an exclusion has a field of the same name."""

    ARGUMENT = "argument"
    """An argument of the query or of a form."""
    HEADER = "header"
    COOKIE = "cookie"
    JSON_PATH = "json_path"
    XML_PATH = "xml_path"
    MULTIPART_FIELD = "multipart_field"

    __hash__ = str.__hash__


PartName = tuple[Part | None, str]
"""Part and name of a value; None if sites may read the value as another part, so that no exclusion applies to it."""
Name = str | PartName
"""Name of a value. For a plain string, the region of the value determines the part (``scope.part_of``)."""


class _Compiled:
    __slots__ = ("_compiled",)
    if TYPE_CHECKING:  # the codec of rows would take an annotation for a field
        _compiled: "tuple[PartName | None, Callable[[str], bool] | None]"


@dataclass(frozen=True, slots=True)
class Exclusion(_Compiled):
    """Exemption from a rule; all fields that are set must apply, until the expiry.

    ``domain``: name of the registered domain, or of the host. At most one of the three paths and one of the six names
    is set.
    """

    domain: str | None = None
    path_prefix: str | None = None
    argument: str | None = None
    expires_at: float | None = None
    header: str | None = None
    cookie: str | None = None
    json_path: str | None = None
    xml_path: str | None = None
    multipart_field: str | None = None
    path_exact: str | None = None
    path_glob: str | None = None

    @property
    def part(self) -> PartName | None:
        """The named part of the request, None if the exclusion is for every part."""
        return self.compiled[0]

    @property
    def compiled(self) -> tuple[PartName | None, Callable[[str], bool] | None]:
        """``part``, and the test of a path without trailing slashes, in latin-1; None if it is for every path."""
        try:
            return self._compiled
        except AttributeError:
            object.__setattr__(self, "_compiled", (self._part, self._path_test))
            return self._compiled

    @property
    def _part(self) -> PartName | None:
        for part in Part:
            name = getattr(self, part.value)
            if name is not None:
                return part, _as_compared(part, name)
        return None

    @property
    def _path_test(self) -> Callable[[str], bool] | None:
        for match in PathMatch:
            if (value := getattr(self, f"path_{match.value}")) is not None:
                return path_test(match, value)
        return None


@lru_cache(maxsize=1024)
def path_test(match: PathMatch, value: str) -> Callable[[str], bool]:
    """Return the test of a path without trailing slashes, in latin-1."""
    return compiled(PathPattern(match, value))


def _as_compared(part: Part, name: str) -> str:
    """Return a name in the form of the request readers: header names in lower case, bytes as sent in latin-1."""
    if part is Part.HEADER:
        return name.lower()
    if part is Part.JSON_PATH or part is Part.XML_PATH:
        return name
    return name if name.isascii() else name.encode("utf-8", "surrogatepass").decode("latin-1")
