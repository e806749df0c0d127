"""Conditions of an access rule: canonical forms of their values, and validators of their columns."""

import posixpath
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import unquote
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from gatewall.engine.access_rules.rules import PathMatch, RuleCredential
from gatewall.engine.access_rules.token_headers import is_header_of_tokens
from policies.validators import require_spelling, validate_country_code, validate_network

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""Names of the days, Monday first (ISO 8601)."""
MAX_RULES = 1_000
MAX_PATHS = 100
MAX_PATH = 500
MAX_PREFIXES = 20
"""Maximum number of path prefixes of an app token."""
MAX_MEMBERS = 500
"""Maximum length of any other list of a rule: all rules together are one segment of bounded size."""
MAX_ASN = 2**32 - 1
_METHOD = re.compile(r"(?=.{1,32}\Z)[A-Z]+(-[A-Z]+)*")
TIME_PATTERN = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
"""A time of day, as a pattern of the OpenAPI document (ECMA 262)."""
_TIME = re.compile(TIME_PATTERN.strip("^$"))
_REGEX = re.compile(r"^\^|\.[*+]|\(\?|\[\^")
_HEADER = re.compile(r"[a-z0-9-]{1,64}")
_DECODING_ROUNDS = 3


def _refused(words: Any, code: str = "invalid", **params: object) -> ValidationError:
    return ValidationError(words, code, params or None)


def canonical_path(text: str) -> str:
    """Return a path in canonical form: decoded, resolved, without parameters, query, fragment and trailing slash."""
    for _round in range(_DECODING_ROUNDS):
        text = unquote(text)
    path = re.split(r"[?#]", text, maxsplit=1)[0].replace("\\", "/")
    path = "/".join(segment.partition(";")[0] for segment in path.split("/"))
    return posixpath.normpath("/" + path.lstrip("/"))


def validate_path(match: str, text: str) -> None:
    """Raise ValidationError unless the path is valid and canonical; ``not-canonical`` names the canonical form."""
    if not text.isprintable():
        raise _refused(_("a path has no control characters"))
    if _REGEX.search(text):
        raise _refused(_("a path is not a regular expression: use prefix, or glob with * and **"))
    canonical = canonical_path(text)
    if "%" in canonical or "\ufffd" in canonical:
        raise _refused(_("write a path decoded, without %20 and the like"))
    if not text.startswith("/"):
        raise _refused(_("a path begins with /: write %(spelling)s"), "not-canonical", spelling=repr(canonical))
    _validate_wildcards(match, canonical)
    require_spelling(canonical, text)


def _validate_wildcards(match: str, path: str) -> None:
    segments = path.split("/")
    if match != PathMatch.GLOB and "*" in path:
        if match == PathMatch.PREFIX and set(segments[-1]) == {"*"} and "*" not in "".join(segments[:-1]):
            whole = "/".join(segments[:-1]) or "/"
            raise _refused(_("a prefix covers what is below it: write %(path)s"), "not-canonical", path=repr(whole))
        raise _refused(_("* stands for a segment only in a glob"))
    if any("*" in segment and segment not in {"*", "**"} for segment in segments):
        raise _refused(_("* and ** stand for whole segments, like /files/*/download"))


def validate_paths(value: Any) -> None:
    """Raise ValidationError unless the value is a list of objects with ``match`` and ``value``."""
    _validate_list(value, MAX_PATHS)
    for each in value:
        if not isinstance(each, dict) or set(each) != {"match", "value"} or each["match"] not in [*PathMatch]:
            raise _refused(_("a path has a match (exact, prefix or glob) and a value"))
        if not isinstance(each["value"], str) or len(each["value"]) > MAX_PATH:
            raise _refused(_("a path is a text of at most %(number)s characters"), number=MAX_PATH)
        validate_path(each["match"], each["value"])


def validate_path_prefix(text: str) -> None:
    """Raise ValidationError unless the text is a path prefix in canonical form."""
    validate_path(PathMatch.PREFIX, text)


def validate_path_prefixes(value: Any) -> None:
    """Raise ValidationError unless the value is a list of path prefixes in canonical form."""
    _validate_list(value, MAX_PREFIXES)
    for each in value:
        if not isinstance(each, str) or len(each) > MAX_PATH:
            raise _refused(_("a path is a text of at most %(number)s characters"), number=MAX_PATH)
        validate_path_prefix(each)


def canonical_method(text: str) -> str:
    """Return an HTTP method in capital letters. Raises ValidationError."""
    method = text.upper()
    if not _METHOD.fullmatch(method):
        raise _refused(_("%(text)s is not a method"), text=repr(text[:32]))
    return method


def validate_methods(value: Any) -> None:
    """Raise ValidationError unless the value is a list of HTTP methods in capital letters."""
    _validate_texts(value, lambda text: require_spelling(canonical_method(text), text))


def validate_networks(value: Any) -> None:
    """Raise ValidationError unless the value is a list of networks in canonical form."""
    _validate_texts(value, validate_network)


def validate_countries(value: Any) -> None:
    """Raise ValidationError unless the value is a list of country codes."""
    _validate_texts(value, validate_country_code)


def validate_asns(value: Any) -> None:
    """Raise ValidationError unless the value is a list of autonomous system numbers (32 bits, RFC 6793)."""
    _validate_list(value, MAX_MEMBERS)
    for each in value:
        if type(each) is not int or not 1 <= each <= MAX_ASN:
            raise _refused(_("%(number)s is not the number of an autonomous system"), number=repr(str(each)[:32]))


def validate_weekdays(value: Any) -> None:
    """Raise ValidationError unless the value is a list of weekdays."""
    _validate_choices(value, WEEKDAYS)


def validate_credential_kinds(value: Any) -> None:
    """Raise ValidationError unless the value is a list of kinds of credentials."""
    _validate_choices(value, [each.value for each in RuleCredential])


def canonical_header(text: str) -> str:
    """Return the lower-case name of a request header for app tokens. Raises ValidationError."""
    name = text.strip().lower()
    if not name:
        return ""
    if not _HEADER.fullmatch(name):
        raise _refused(_("%(text)s is not the name of a header"), text=repr(text[:32]))
    if not is_header_of_tokens(name):
        raise _refused(
            _("%(text)s is used for something else: choose a header of the app, like x-emby-token"), text=repr(name)
        )
    return name


def validate_token_header(text: str) -> None:
    """Raise ValidationError unless the text is the lower-case name of a request header for app tokens."""
    require_spelling(canonical_header(text), text)


def validate_time(text: str) -> None:
    """Raise ValidationError unless the text is a time of day like 09:30."""
    if not _TIME.fullmatch(text):
        raise _refused(_("%(text)s is not a time of day like 09:30"), text=repr(text[:16]))


def minute_of(text: str | None) -> int | None:
    """Return a time of day as minutes since midnight, or None without a time."""
    return None if text is None else int(text[:2]) * 60 + int(text[3:])


def validate_time_zone(text: str) -> None:
    """Raise ValidationError unless the text names an IANA time zone; suggests the name if only letter case differs."""
    if text in time_zones():
        return
    spelling = next((name for name in time_zones() if name.lower() == text.lower()), None)
    if spelling:
        require_spelling(spelling, text)
    raise _refused(_("%(name)s is not an IANA time zone like Europe/Berlin"), "unknown-time-zone", name=repr(text[:64]))


@lru_cache(maxsize=1)
def time_zones() -> frozenset[str]:
    """Return the names of all IANA time zones, without ``localtime``, which differs by system."""
    return frozenset(available_timezones() - {"localtime"})  # reads every file of the database: takes 0.1 s


def _validate_texts(value: Any, validate: Callable[[str], None]) -> None:
    _validate_list(value, MAX_MEMBERS)
    for each in value:
        if not isinstance(each, str):
            raise _refused(_("a list of texts"))
        validate(each)


def _validate_choices(value: Any, known: Iterable[str]) -> None:
    known = list(known)
    _validate_list(value, len(known))
    for each in value:
        if each not in known:
            words = _("%(item)s is not one of %(known)s")
            raise _refused(words, "invalid-choice", item=repr(str(each)[:32]), known=", ".join(known))


def _validate_list(value: Any, at_most: int) -> None:
    if not isinstance(value, list) or len(value) > at_most:
        raise _refused(_("a list of at most %(number)s"), number=at_most)
