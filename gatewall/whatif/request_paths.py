"""Path prefixes of a request that a policy can contain, longest first. No I/O."""

from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from django.core.exceptions import ValidationError

from audit.spool.masking import MASK
from gatewall.engine.access_rules.rules import PathMatch
from gatewall.engine.model import AccessRequest
from gatewall.engine.waf.exclusions import path_test
from gatewall.engine.waf.scope import Scope
from policies.validators import validate_path_prefix


def longest_prefix(request: AccessRequest, domain: str | None) -> str | None:
    """Return the path, or its longest prefix that all servers decode alike; None if there is none."""
    scope = Scope(request, domain)
    for prefix in _prefixes(request.uri.partition("?")[0]):
        if scope.is_surely_at(path_test(PathMatch.PREFIX, prefix)):
            return prefix
    return None


def _prefixes(path: str) -> Iterator[str]:
    parts = unquote_to_bytes(path.encode("latin-1")).split(b"/")[1:]
    for end in range(len(parts), 0, -1):
        try:
            prefix = "/" + b"/".join(parts[:end]).decode("utf-8").rstrip("/")
            validate_path_prefix(prefix)
        except (UnicodeDecodeError, ValidationError):
            continue
        if 1 < len(prefix) <= 500 and MASK not in prefix and prefix.isprintable():
            yield prefix
