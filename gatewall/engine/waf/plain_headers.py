"""Headers that browsers fill in, which are inspected only if their values are unusual. No I/O."""

from collections.abc import Sequence

from gatewall.engine.model import AccessRequest

FILLED_IN = frozenset(
    {
        "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection",
        "content-length", "dnt", "date", "forwarded", "host", "if-match", "if-modified-since",
        "if-none-match", "if-range", "if-unmodified-since", "keep-alive", "origin", "pragma", "priority", "purpose",
        "range",
        "sec-ch-ua", "sec-ch-ua-arch", "sec-ch-ua-bitness", "sec-ch-ua-full-version-list", "sec-ch-ua-mobile",
        "sec-ch-ua-model", "sec-ch-ua-platform", "sec-ch-ua-platform-version", "sec-fetch-dest", "sec-fetch-mode",
        "sec-fetch-site", "sec-fetch-user", "sec-gpc", "sec-websocket-extensions", "sec-websocket-key",
        "sec-websocket-version", "te", "trailer", "transfer-encoding", "upgrade", "upgrade-insecure-requests",
        "via", "x-real-ip", "x-request-id", "x-requested-with",
    }
)  # fmt: skip
"""Headers that browsers fill in."""
_IN_ADDRESS = b":/.-_~@+,=;!*"
_IN_PLAIN = bytes(set(range(32, 127)) - set(b"'<>{}$`|\\"))


def inspected_headers(request: AccessRequest) -> Sequence[tuple[str, str]]:
    """Return all headers, except those that browsers fill in with usual values."""
    plain = FILLED_IN
    text = "".join([value for name, value in request.headers if name in plain])
    if "../" not in text and '" ' not in text and not text.encode("latin-1").translate(None, _IN_PLAIN):
        return [each for each in request.headers if each[0] not in plain]
    return [each for each in request.headers if each[0] not in plain or is_unusual(each[1])]


def is_unusual(value: str) -> bool:
    """True if a value contains characters that no browser writes into these headers."""
    return "../" in value or '" ' in value or bool(value.encode("latin-1").translate(None, _IN_PLAIN))


def is_plain_address(text: str) -> bool:
    """True for the URL of a page without characters that a rule may look for."""
    if text[:4] != "http":
        return False
    rest = text.encode("latin-1").translate(None, _IN_ADDRESS)
    return rest.isalnum() or rest.decode("latin-1").isalnum()
