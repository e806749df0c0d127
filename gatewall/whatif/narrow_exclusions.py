"""Find the narrowest exclusions that keep a WAF rule from matching one recorded request."""

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import unquote_to_bytes

from django.core.exceptions import ValidationError

from audit.spool.masking import MASK
from gatewall.engine.model import AccessRequest
from gatewall.engine.waf.places import Places
from gatewall.engine.waf.rules import Exclusion, WafRule
from gatewall.engine.waf.scope import Scope
from policies.validators import validate_exclusions, validate_path_prefix

_MAX_ARGUMENTS = 10
_MAX_PREFIX = 500


def narrowest(rule: WafRule, request: AccessRequest, domain: str | None) -> tuple[Exclusion, ...]:
    """Return exclusions limited to this domain and path, and to the matched arguments if all matches are in arguments.

    Returns none if they would hold everywhere, or if existing exclusions already cover the request.
    """
    anywhere = Places(request, domain).of(replace(rule, exclusions=()))
    if anywhere and not Places(request, domain).of(rule):
        return ()
    prefix = _longest_prefix(request, domain, rule)
    exclusions: tuple[Exclusion, ...] = ()
    for _ in range(_MAX_ARGUMENTS):
        places = Places(request, domain).of(replace(rule, exclusions=(*rule.exclusions, *exclusions)))
        if not places and exclusions:
            return exclusions
        names = {place.name for place in places}
        if not places or not all(_is_valid_name(name) for name in names):
            break
        exclusions += tuple(Exclusion(domain, prefix, name) for name in sorted(filter(None, names)))
    return (Exclusion(domain, prefix),) if domain or prefix else ()


def _is_valid_name(name: str | None) -> bool:
    """Return whether an exclusion can name this argument, header or cookie."""
    try:
        validate_exclusions([{"argument": name}])
    except ValidationError:
        return False
    return True


def _longest_prefix(request: AccessRequest, domain: str | None, rule: WafRule) -> str | None:
    """Return the path, or its longest prefix that all servers decode alike."""
    scope = Scope(request, domain)
    for prefix in _prefixes(request.uri.partition("?")[0]):
        if scope.spares(replace(rule, exclusions=(Exclusion(path_prefix=prefix),)), None):
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
        if len(prefix) <= _MAX_PREFIX and len(prefix) > 1 and MASK not in prefix and prefix.isprintable():
            yield prefix
