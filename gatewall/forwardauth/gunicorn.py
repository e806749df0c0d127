"""What gunicorn has to do before it folds headers into a WSGI environ. Pure."""

from gatewall.forwardauth.headers import LINE


def join_repeated_headers(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers with repeated names joined by a line feed, cookies by a semicolon.

    gunicorn joins repeated lines by comma, after which two ``X-Forwarded-Uri`` lines look like one
    URI with a comma, and two ``Cookie`` lines lose a cookie (RFC 9113 section 8.2.3).
    """
    joined: dict[str, str] = {}
    for name, value in headers:
        separator = "; " if name == "COOKIE" else LINE
        joined[name] = joined[name] + separator + value if name in joined else value
    return list(joined.items())
