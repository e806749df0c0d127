"""Which headers an access rule may name for app tokens. No I/O."""

_OTHER_USE = frozenset(
    {
        *("accept", "accept-encoding", "accept-language", "authorization", "cache-control", "connection"),
        *("content-encoding", "content-length", "content-type", "cookie", "date", "dnt", "expect", "forwarded", "from"),
        *("host", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "origin"),
        *("pragma", "priority", "proxy-authorization", "range", "referer", "te", "trailer", "transfer-encoding"),
        *("upgrade", "upgrade-insecure-requests", "user-agent", "via", "x-real-ip", "x-requested-with"),
    }
)
_OTHER_STARTS = ("x-forwarded-", "x-original-", "x-gatewall-", "x-envoy-", "remote-", "service-", "sec-")


def is_header_of_tokens(name: str) -> bool:
    """Return whether apps may send their own tokens in this header (lower-case name): it has no other use."""
    return name not in _OTHER_USE and not name.startswith(_OTHER_STARTS)
