"""Fast path of ``reading.py`` for a plain URI and referer, as most are: the texts to inspect. No I/O.

They are the texts that ``reading.py`` finds; a URI that may need more is left to it. Tests compare both.
"""

import string
from typing import NamedTuple

from gatewall.engine.hosts import Host
from gatewall.engine.waf.decoding import MIN_BASE64, base64_decoded, form_base64_decoded
from gatewall.engine.waf.reading import LONG_NAME, LONG_URI, MAX_SEPARATE, SHORT, short_referer_values
from gatewall.engine.waf.redirects import REDIRECTS
from gatewall.engine.waf.rules import Target

_PLAIN = f"{string.ascii_letters}{string.digits}/-._~,:;=?&+!()@".encode()
"""Characters without further forms, and the separator of arguments."""


class Asked(NamedTuple):
    """The varying parts of requests of one head; ``others`` are the values of plain headers, joined by commas."""

    uri: str
    host: Host | None
    referer: str | None
    others: str


def plain_texts(asked: Asked) -> list[str] | None:
    """Return the texts of the URI and the referer that are inspected; None if they are not plain."""
    uri = asked.uri
    if len(uri) > LONG_URI or uri.encode("latin-1").translate(None, _PLAIN):
        return None
    path, _, query = uri.partition("?")
    if "&" in path:
        return None
    found = [path]
    if len(path) >= MIN_BASE64:
        last = path[path.rfind("/") + 1 :]
        if "." not in last:
            if len(last) >= MIN_BASE64 and base64_decoded(last) is not None:
                return None
            if base64_decoded(path[1:]) is not None:
                return None
    if query and not _add_arguments(found, query):
        return None
    return found if asked.referer is None or _add_referer(found, asked, asked.referer) else None


def _add_arguments(found: list[str], query: str) -> bool:
    """Add the texts of arguments; False if one is not plain."""
    parts = query.replace("+", " ").split("&", MAX_SEPARATE)
    if len(parts) > MAX_SEPARATE:
        return False
    for part in parts:
        name, _, value = part.partition("=")
        if not name.isidentifier() or "__" in name or len(name) >= LONG_NAME:
            if len(name) >= MIN_BASE64:
                return False
            found.append(name)
        if len(value) < MIN_BASE64:
            if value.isalnum() or not value:
                continue
        elif value[:3] == "eyJ" or form_base64_decoded(value) is not None:
            return False
        if (value[:4] == "http" or value[:2] == "//") and name.lower() in REDIRECTS:
            return False
        found.append(value)
    return True


def _add_referer(found: list[str], asked: Asked, referer: str) -> bool:
    """Add the texts of a referer; False if they depend on the URI or are not plain."""
    if len(referer) > SHORT:
        return False
    host, values = short_referer_values(referer)
    if host and asked.host is not None and host != asked.host.name:
        return False
    for target, _, text in values:
        if target.__class__ is not Target:
            return False
        found.append(text)
    return True
