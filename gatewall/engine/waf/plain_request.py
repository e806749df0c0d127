"""Fast path of ``reading.py`` for a plain request, as most are: the texts to inspect. No I/O.

They are the texts that ``reading.py`` finds; a request that may need more is left to it. Tests compare both.
"""

from gatewall.engine.model import AccessRequest
from gatewall.engine.waf.decoding import MIN_BASE64, base64_decoded, form_base64_decoded
from gatewall.engine.waf.plain_headers import FILLED_IN, is_plain_address, is_unusual
from gatewall.engine.waf.plain_target import Asked, plain_texts
from gatewall.engine.waf.reading import MAX_HEADER, MAX_SEPARATE, SHORT
from gatewall.engine.waf.values import MAX_INSPECTED, VALUE_COST

_FORMLESS = bytes(set(range(32, 127)) - set(b"'\"\\&*%$`^{["))
"""Characters of texts that have no further forms, unless they are base64."""
_MOST_HEADERS = 64
_MOST_OTHERS = 16
"""Headers that browsers do not fill in; a request with more is not plain."""
_BROWSERS = "Mozilla/"


def plain_request(request: AccessRequest) -> bytes | None:
    """Return the texts that are inspected, as lines to scan; None if the request is not plain."""
    if request.body is not None or not request.body_is_whole or request.site_credentials:
        return None
    if len(request.headers) > _MOST_HEADERS or len(request.cookies) > MAX_SEPARATE:
        return None
    found: list[str] = []
    formless: list[str] = []
    if not (_add_headers(found, formless, request) and _add_cookies(formless, request.cookies)):
        return None
    if "".join(formless).encode("latin-1").translate(None, _FORMLESS):
        return None
    text = "\n".join(found + formless).encode("latin-1")
    return text if len(text) + len(found + formless) * (VALUE_COST - 1) + 1 <= MAX_INSPECTED else None


def _add_headers(found: list[str], formless: list[str], request: AccessRequest) -> bool:
    """Add the texts of URI and headers to ``found``, or ``formless`` if they must be so; False for further forms."""
    headers = request.headers
    others = [each for each in headers if each[0] not in FILLED_IN]
    if len(others) > _MOST_OTHERS or is_unusual(",".join([value for name, value in headers if name in FILLED_IN])):
        return False
    referer = cookies = None
    for name, value in others:
        if name == "user-agent" and value[:8] == _BROWSERS and "\n" not in value:
            found.append(value)  # a browser's has no further forms
        elif name == "referer" and referer is None:  # a second one is not plain, nor are more cookies
            referer = value
        elif name == "cookie" and cookies is None and len(value) <= MAX_HEADER:
            cookies = value
        elif not _add_header(formless, name, value):
            return False
    target = _target_texts(request, referer)
    found += target or ()
    return target is not None


def _add_header(found: list[str], name: str, value: str) -> bool:
    """Add the text of another header; False if it may have further forms."""
    if name in {"cookie", "referer"}:
        return False
    if name == "user-agent":
        found.append(value)
        return len(value) < MIN_BASE64 or (value[:3] != "eyJ" and form_base64_decoded(value) is None)
    if len(value) < MIN_BASE64:
        if not (value.isdecimal() and name.replace("-", "").isalnum()):
            found.append(f"{name}: {value}")
        return True
    found.append(f"{name}: {value}")
    return base64_decoded(value) is None


def _add_cookies(found: list[str], cookies: tuple[tuple[str, str], ...]) -> bool:
    """Add the texts of cookies; False if one may have further forms."""
    for name, value in cookies:
        if not (name.isidentifier() or name.replace("-", "").replace("_", "").isalnum()):
            found.append(name)
        is_short = len(value) < MIN_BASE64
        if value.isalnum() or value.replace("-", "").replace("_", "").replace(".", "").isalnum():
            if not (is_short or base64_decoded(value) is None):
                return False
        elif is_short or (value[:3] != "eyJ" and form_base64_decoded(value) is None):
            found.append(value)
        else:
            return False
    return True


def _target_texts(request: AccessRequest, referer: str | None) -> list[str] | None:
    """Return the texts of the URI and the referer; None if they may have further forms."""
    host = request.host
    if referer is None or "?" in referer or len(referer) > SHORT or not is_plain_address(referer):
        return plain_texts(Asked(request.uri, host, referer, ""))
    linked_from = referer.partition("//")[2].partition("/")[0].partition(":")[0]
    if linked_from and host is not None and linked_from != host.name and "?" in request.uri:
        return None  # the names of its arguments are inspected
    return plain_texts(Asked(request.uri, host, None, ""))
