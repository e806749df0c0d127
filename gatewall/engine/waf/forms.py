"""Values that custom rules inspect: parts of a request as bytes, each computed at most once. No I/O."""

from gatewall.engine.model import AccessRequest
from gatewall.engine.paths import resolved
from gatewall.engine.waf.exclusions import Name
from gatewall.engine.waf.percent import decoded_once
from gatewall.engine.waf.rules import Target

DECODING_ROUNDS = 3
"""Rounds of percent-decoding, against double encoding."""
MAX_BODY = 65_536
MAX_SEPARATE = 64
"""Arguments, cookies and headers that are matched one by one; further ones form one value."""
_JOINT = "\f"  # white space to every pattern; neither in an entity nor in any text

Value = tuple[Name | None, bytes]
"""Name of the argument, header or cookie (None without), and the value to match."""


def decode(value: bytes) -> bytes:
    """Percent-decode until nothing changes, at most three times."""
    for _ in range(DECODING_ROUNDS):
        if b"%" not in value:
            break
        decoded = decoded_once(value)
        if decoded == value:
            break
        value = decoded
    return value


def canonical_path(raw: bytes) -> bytes:
    """Return the decoded path with backslashes, dot segments and repeated slashes resolved."""
    return resolved(decode(raw))


class Views:
    """Values of one request, by target."""

    __slots__ = ("_arguments", "_path", "_query", "_request", "_values")

    def __init__(self, request: AccessRequest) -> None:
        self._request = request
        self._path, _, self._query = request.uri.encode("latin-1").partition(b"?")
        self._values: dict[Target, tuple[Value, ...]] = {}
        self._arguments: list[tuple[Name | None, bytes, bytes]] | None = None

    def of(self, target: Target) -> tuple[Value, ...]:
        values = self._values.get(target)
        if values is None:
            values = self._values[target] = self._compute(target)
        return values

    def _compute(self, target: Target) -> tuple[Value, ...]:  # noqa: C901 - a table, one case a target
        request = self._request
        match target:
            case Target.URI:
                return ((None, request.uri.encode("latin-1")),)
            case Target.QUERY:
                return ((None, self._query),)
            case Target.PATH:
                return ((None, decode(self._path)),)
            case Target.ARGS:
                return tuple([(name, value) for name, _, value in self._args()])
            case Target.ARG_NAMES:
                return tuple([(name, decoded) for name, decoded, _ in self._args()])
            case Target.HEADERS:
                return _named(request.headers)
            case Target.COOKIES:
                return _named(request.cookies)
            case Target.USER_AGENT | Target.REFERER:
                value = request.header(target.value)
                return ((None, decode(value.encode("latin-1"))),) if value else ()
            case Target.METHOD:
                return ((None, request.method.encode("latin-1")),)
            case Target.HOST:
                return ((None, request.host.name.encode("latin-1")),) if request.host else ()
            case Target.BODY:  # pragma: no branch - the last target; mypy checks exhaustiveness
                return ((None, request.body[:MAX_BODY]),) if request.body else ()

    def _args(self) -> list[tuple[Name | None, bytes, bytes]]:
        """Return each argument: name as text, name, value."""
        if self._arguments is None:
            self._arguments = _arguments(self._query)
        return self._arguments


def _arguments(query: bytes) -> list[tuple[Name | None, bytes, bytes]]:
    parts = query.replace(b"+", b" ").split(b"&", MAX_SEPARATE)
    found: list[tuple[Name | None, bytes, bytes]] = []
    for part in parts[:MAX_SEPARATE]:
        if part:
            sent, _, value = part.partition(b"=")
            name = decode(sent)
            label = name.decode("latin-1")
            is_sure = b"%" not in sent or decoded_once(sent) == name
            found.append((label if is_sure else (None, label), name, decode(value)))
    for rest in parts[MAX_SEPARATE:]:  # at most one, with names and values
        decoded = decode(rest.replace(b"&", _JOINT.encode()))
        found.append((None, decoded, decoded))
    return found


def _named(pairs: tuple[tuple[str, str], ...]) -> tuple[Value, ...]:
    values: list[Value] = [(name, decode(value.encode("latin-1"))) for name, value in pairs[:MAX_SEPARATE]]
    if rest := pairs[MAX_SEPARATE:]:
        values.append((None, decode(_JOINT.join([value for _, value in rest]).encode("latin-1"))))
    return tuple(values)
