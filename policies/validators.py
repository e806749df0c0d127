"""Validators of policy fields, which call the engine's parsers, so that accepted input is valid for the engine."""

import re
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from gatewall.api.translation import validation_error
from gatewall.engine.addresses import canonical_text, parse_network
from gatewall.engine.groups import ADMINS
from gatewall.engine.hosts import Authority, parse_domain_name
from gatewall.engine.identity_headers import KNOWN_HEADERS
from gatewall.engine.messages import Refused
from gatewall.engine.waf.patterns import PatternRefused, compile_pattern
from gatewall.engine.waf.rules import Operator, Target, Transform
from policies.countries import COUNTRY_NAMES
from policies.country_choices import code_named
from policies.list_files.parsing import ListRefused, source_named

_LIST_URL = re.compile(r"https?://[^\s@?#\\\x00-\x20\x7f-\U0010ffff]+")
_GROUP_NAME = re.compile(r"[a-z0-9._-]{1,64}")
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
MAX_CUSTOM_RULES = 5_000
"""Limits how many rules each publication and worker compiles (docs/waf.md)."""
MAX_TRANSFORMS = 10
MAX_MONITORING_DAYS = 90


def canonical_network(text: str) -> str:
    """Return a network in canonical form. Raises ValidationError, code ``invalid``."""
    try:
        return canonical_text(parse_network(text))
    except Refused as error:
        raise validation_error(error) from None


def canonical_domain(text: str) -> str:
    """Return a domain name in canonical form. Raises ValidationError, code ``invalid``."""
    try:
        return parse_domain_name(text)
    except Refused as error:
        raise validation_error(error) from None


def monitoring_end(until: datetime | None) -> datetime | None:
    """Return the end of a domain's WAF monitoring. Raises ValidationError if it is too far ahead."""
    if until is not None and until > timezone.now() + timedelta(days=MAX_MONITORING_DAYS):
        words = _("at most %(days)s days ahead: until then the WAF refuses nothing here")
        raise ValidationError(words, code="invalid", params={"days": MAX_MONITORING_DAYS})
    return until


def canonical_country(text: str) -> str:
    """Return a country code in upper case. Raises ValidationError, code ``unknown-country``."""
    code = text.strip().upper()
    if text.isascii() and code in COUNTRY_NAMES:  # only ASCII: upper() turns the long s into S
        return code
    named = code_named(text)
    if named is not None:
        raise ValidationError(
            _("%(name)s is the name of a country: write its code, %(code)s"),
            params={"name": repr(text), "code": named},
            code="unknown-country",
        )
    raise ValidationError(
        _("%(code)s is not an ISO 3166-1 alpha-2 country code"),
        params={"code": repr(text[:16])},
        code="unknown-country",
    )


def require_spelling(spelling: str, text: str) -> None:
    """Raise ValidationError (``not-canonical``, with the canonical spelling) unless the text is spelled so."""
    if spelling != text:
        raise ValidationError(_("write %(spelling)s"), params={"spelling": repr(spelling)}, code="not-canonical")


def validate_network(text: str) -> None:
    """Raise ValidationError unless the network is in canonical form."""
    require_spelling(canonical_network(text), text)


def validate_domain_name(text: str) -> None:
    """Raise ValidationError unless the domain name is in canonical form."""
    require_spelling(canonical_domain(text), text)


def validate_country_code(text: str) -> None:
    """Raise ValidationError unless the text is a country code in upper case."""
    require_spelling(canonical_country(text), text)


def validate_group_name(text: str) -> None:
    """Raise ValidationError unless ``Remote-Groups`` can list the name, and does not use it for admins."""
    if not _GROUP_NAME.fullmatch(text):
        raise ValidationError(_("a name has 1 to 64 of a-z, 0-9, dot, underscore and hyphen"), code="invalid")
    if text == ADMINS:
        raise ValidationError(_("this name is reserved: Remote-Groups uses it for admins"), code="invalid")


def validate_source(text: str) -> None:
    """Raise ValidationError unless the source is ``manual``, ``auto-ban`` or ``import:NAME``."""
    if text not in {"manual", "auto-ban"} and not (text.startswith("import:") and len(text) > len("import:")):
        raise ValidationError(_("a source is manual, auto-ban or import:NAME"), code="invalid")


def validate_path_prefix(text: str) -> None:
    """Raise ValidationError for a prefix that no canonical (decoded) path has."""
    if _ESCAPE.search(text):
        raise ValidationError(_("write a path prefix decoded, without %20 and the like"), code="invalid")
    if not text.startswith("/") or "//" in text or {".", ".."} & set(text.split("/")):
        raise ValidationError(_("a path prefix begins with / and has no // or dot segments"), code="invalid")


def validate_targets(value: Any) -> None:
    """Raise ValidationError for an empty list or unknown targets."""
    _validate_members(value, Target, at_least=1, at_most=len(Target))


def validate_transforms(value: Any) -> None:
    """Raise ValidationError for unknown transforms or more than ten."""
    _validate_members(value, Transform, at_least=0, at_most=MAX_TRANSFORMS)


def _validate_members(value: Any, enum: type[StrEnum], *, at_least: int, at_most: int) -> None:
    known = [member.value for member in enum]
    if not isinstance(value, list) or not at_least <= len(value) <= at_most:
        raise ValidationError(
            _("a list of %(least)s to %(most)s of %(known)s"),
            params={"least": at_least, "most": at_most, "known": ", ".join(known)},
            code="invalid",
        )
    for item in value:
        if item not in known:
            raise ValidationError(
                _("%(item)s is not one of %(known)s"),
                params={"item": repr(str(item)[:32]), "known": ", ".join(known)},
                code="invalid-choice",
            )


def validate_pattern(pattern: str, operator: str) -> None:
    """Raise ValidationError, code ``pattern-refused``, unless the pattern matches in linear time."""
    try:
        compile_pattern(pattern, Operator(operator))
    except PatternRefused as error:
        raise validation_error(error, code="pattern-refused") from None


def validate_list_name(text: str) -> None:
    """Raise ValidationError for an invalid list name."""
    try:
        source_named(text)
    except ListRefused as refused:
        raise validation_error(refused) from None


def validate_list_url(text: str) -> None:
    """Raise ValidationError for a URL with query or user, which may be secret: revisions store the URL."""
    if not _LIST_URL.fullmatch(text) or Authority.of_url(text) is None:
        raise ValidationError(
            _("write a URL like https://lists.example/drop.txt, without query and user"), code="invalid"
        )


def validate_identity_headers(value: Any) -> None:
    """Raise ValidationError unless the value is a list of distinct known identity headers."""
    if not isinstance(value, list) or any(name not in KNOWN_HEADERS for name in value) or len(set(value)) < len(value):
        words = _("must be a list of distinct names out of %(names)s")
        raise ValidationError(words, params={"names": ", ".join(KNOWN_HEADERS)})
