"""What a rule can look at: the parts of a request as bytes, each worked out at most once. No I/O."""

import posixpath
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from gatewall.engine.model import AccessRequest
from gatewall.engine.waf.rules import Target

_DECODING_ROUNDS = 3
"""How often a value is percent-decoded, so that double encoding does not hide anything."""
_MAX_ARGUMENTS = 512

Value = tuple[str, bytes]
"""The name of an argument, header or cookie (empty elsewhere), and the value to match."""


def decode(value: bytes) -> bytes:
    """Return the value percent-decoded until it no longer changes, at most three times."""
    for _ in range(_DECODING_ROUNDS):
        if b"%" not in value:
            break
        decoded = unquote_to_bytes(value)
        if decoded == value:
            break
        value = decoded
    return value


def canonical_path(raw: bytes) -> bytes:
    """Return the decoded path with backslashes, dot segments and repeated slashes resolved."""
    path = decode(raw).replace(b"\\", b"/")
    normal = posixpath.normpath(b"/" + path.lstrip(b"/"))
    return normal + b"/" if path.endswith(b"/") and normal != b"/" else normal


class Views:
    """The parts of one request, by target."""

    __slots__ = ("_arguments", "_request", "_values")

    def __init__(self, request: AccessRequest) -> None:
        self._request = request
        self._values: dict[Target, tuple[Value, ...]] = {}
        self._arguments: tuple[tuple[bytes, bytes], ...] | None = None

    def of(self, target: Target) -> tuple[Value, ...]:
        """Return the values that a rule with this target looks at."""
        values = self._values.get(target)
        if values is None:
            values = self._values[target] = tuple(self._look(target))
        return values

    def _look(self, target: Target) -> Iterable[Value]:  # noqa: C901 - a table, one case a target
        request = self._request
        match target:
            case Target.URI:
                return (("", request.uri.encode("latin-1")),)
            case Target.QUERY:
                return (("", _split(request.uri)[1]),)
            case Target.PATH:
                return (("", decode(_split(request.uri)[0])),)
            case Target.ARGS:
                return ((decode(name).decode("latin-1"), decode(value)) for name, value in self._args())
            case Target.ARG_NAMES:
                return ((decode(name).decode("latin-1"), decode(name)) for name, _ in self._args())
            case Target.HEADERS:
                return ((name, decode(value.encode("latin-1"))) for name, value in request.headers)
            case Target.COOKIES:
                return ((name, decode(value.encode("latin-1"))) for name, value in request.cookies)
            case Target.USER_AGENT | Target.REFERER:
                value = request.header(target.value)
                return (("", decode(value.encode("latin-1"))),) if value else ()
            case Target.METHOD:
                return (("", request.method.encode("latin-1")),)
            case Target.HOST:
                return (("", request.host.name.encode("latin-1")),) if request.host else ()
            case Target.BODY:
                return ()  # a subrequest carries no body

    def _args(self) -> tuple[tuple[bytes, bytes], ...]:
        if self._arguments is None:
            parts = _split(self._request.uri)[1].replace(b"+", b" ").split(b"&", _MAX_ARGUMENTS)
            pairs = (part.partition(b"=") for part in parts if part)
            self._arguments = tuple((name, value) for name, _, value in pairs)
        return self._arguments

    @property
    def canonical_path(self) -> bytes:
        """The path that exclusions and path prefixes are held against."""
        return canonical_path(_split(self._request.uri)[0])


def _split(uri: str) -> tuple[bytes, bytes]:
    path, _, query = uri.encode("latin-1").partition(b"?")
    return path, query
