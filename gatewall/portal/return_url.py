"""Validate the return URL after sign-in (``rd``), to prevent open redirects."""

from collections.abc import Container

from gatewall.engine.hosts import Authority, DomainTable

_MAX_LENGTH = 4096
_REFUSED = frozenset('\\"<>^`{|}')


def parse_return_url(text: str, *, own: Container[str], domains: DomainTable) -> str | None:
    """Return the URL with a canonical host if it is safe to redirect to, else None.

    It must be http or https, without user info, white space or control characters, on a registered domain or an
    authority of our own pages (``own``). Parsers disagree about anything else.
    """
    parts = _parts(text)
    if parts is None:
        return None
    scheme, authority, tail = parts
    if str(authority) not in own and domains.match(authority.host) is None:
        return None
    return f"{scheme}://{authority}{tail}"


def unregistered_authority(text: str, *, own: Container[str], domains: DomainTable) -> Authority | None:
    """Return the site of a return URL that is refused only because nobody registered its host, else None."""
    parts = _parts(text)
    if parts is None or str(parts[1]) in own or domains.match(parts[1].host) is not None:
        return None
    return parts[1]


def _parts(text: str) -> tuple[str, Authority, str] | None:
    """Return scheme, authority, and the rest of a URL that all parsers read alike, else None."""
    if len(text) > _MAX_LENGTH or any(character <= " " or character == "\x7f" for character in text):
        return None
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in {"http", "https"} or not _REFUSED.isdisjoint(text):
        return None
    end = min((rest.index(mark) for mark in "/?#" if mark in rest), default=len(rest))
    authority, tail = rest[:end], rest[end:]
    parsed = Authority.parse(authority)
    return (scheme, parsed, tail) if parsed is not None else None


def origin_of(url: str) -> str:
    """Return the origin of a URL that ``parse_return_url`` accepted."""
    scheme, _, rest = url.partition("://")
    end = min((rest.index(mark) for mark in "/?#" if mark in rest), default=len(rest))
    return f"{scheme}://{rest[:end]}"
