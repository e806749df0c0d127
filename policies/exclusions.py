"""Exclusions of WAF rules as operators write them: fields and validation."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from gatewall.api.translation import validation_error
from gatewall.engine.access_rules.rules import PathMatch
from gatewall.engine.messages import Refused
from gatewall.engine.waf.body.json_path import canonical_json_path
from gatewall.engine.waf.body.xml_reader import MAX_PATH
from gatewall.engine.waf.exclusions import Exclusion, Part
from policies.access_conditions import validate_path
from policies.validators import require_spelling, validate_domain_name, validate_path_prefix

MAX_EXCLUSIONS = 50
_MAX_BYTES = 4096
"""Maximum size of all exclusions of a rule: all rules together are one segment of bounded size."""
_EXPIRY = "expires_at"
_PATHS = ("path_prefix", "path_exact", "path_glob")
_PARTS = tuple([part.value for part in Part])
TEXTS = ("domain", *_PATHS, *_PARTS)
"""The text fields of an exclusion; its only other field is its expiry."""
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_COOKIE_NAME = re.compile(r"[^\s=;,]+")
_XML_PATH = re.compile(r"(?:/[^\s/@:<>=\[\]*]+)+(?:/@[^\s/@<>=\[\]*]+)?")
_YEARS = range(1970, 9999)


def engine_exclusion(values: Mapping[str, Any]) -> Exclusion:
    """Return an exclusion as an engine value. Raises ValueError."""
    return Exclusion(**{name: values.get(name) for name in TEXTS}, expires_at=exclusion_expiry(values))


def written(exclusion: Exclusion) -> dict[str, str]:
    """Return an engine value as an operator writes it: the fields that are set, without the expiry."""
    return {name: value for name in TEXTS if (value := getattr(exclusion, name)) is not None}


def validate_exclusions(value: Any) -> None:
    """Raise ValidationError unless the value is a list of valid exclusions."""
    if not isinstance(value, list) or len(value) > MAX_EXCLUSIONS:
        raise ValidationError(
            _("a list of at most %(number)s exclusions"), params={"number": MAX_EXCLUSIONS}, code="invalid"
        )
    for exclusion in value:
        if not isinstance(exclusion, dict) or not exclusion or not {*TEXTS, _EXPIRY}.issuperset(exclusion):
            fields = ", ".join(TEXTS)
            raise ValidationError(
                _("an exclusion has at least one of %(fields)s, and expires_at"),
                params={"fields": fields},
                code="invalid",
            )
        validate_exclusion(exclusion)
    texts = [text for exclusion in value for text in exclusion.values() if text]
    if sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) > _MAX_BYTES:
        raise ValidationError(
            _("the exclusions of a rule have at most %(number)s bytes"), params={"number": _MAX_BYTES}, code="invalid"
        )


def validate_exclusion(exclusion: Mapping[str, Any]) -> None:
    """Raise ValidationError unless the fields of an exclusion are valid, individually and together."""
    for value in exclusion.values():
        _validate_text(value)
    for name, validate in _VALIDATORS.items():
        if exclusion.get(name):
            validate(exclusion[name])
    try:
        exclusion_expiry(exclusion)
    except ValueError as error:
        raise ValidationError(str(error), code="invalid") from None
    if not any(exclusion.get(name) for name in TEXTS):
        raise ValidationError(_("an exclusion of everything switches the rule off: use enabled"), code="invalid")
    for names in (_PATHS, _PARTS):
        if sum(bool(exclusion.get(name)) for name in names) > 1:
            raise ValidationError(
                _("an exclusion has at most one of %(names)s: write several exclusions"),
                params={"names": ", ".join(names)},
                code="invalid",
            )


def exclusion_expiry(exclusion: Mapping[str, Any]) -> float | None:
    """Return when an exclusion expires, in seconds since the epoch; None if it never does. Raises ValueError."""
    text = exclusion.get(_EXPIRY)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None or moment.year not in _YEARS:
            raise ValueError  # noqa: TRY301 - handled below
        return moment.timestamp()
    except (ValueError, OverflowError):
        words = "the expiry of an exclusion is a moment with its offset, like 2026-01-31T12:00:00Z"
        raise ValueError(words) from None


def _validate_text(value: Any) -> None:
    if value is not None and not (isinstance(value, str) and len(value) <= 500):
        raise ValidationError(_("the parts of an exclusion are texts of at most 500 characters"), code="invalid")
    if value and min(value) < " ":
        raise ValidationError(_("the parts of an exclusion have no control characters"), code="invalid")


def _validate_header(name: str) -> None:
    if not _HEADER_NAME.fullmatch(name):
        raise ValidationError(_("the name of a header has no blank and no colon, like X-Editor"), code="invalid")


def _validate_cookie(name: str) -> None:
    if not _COOKIE_NAME.fullmatch(name):
        raise ValidationError(_("the name of a cookie has no blank, no =, no ; and no comma"), code="invalid")


def _validate_json_path(path: str) -> None:
    try:
        spelling = canonical_json_path(path)
    except Refused as error:
        raise validation_error(error) from None
    require_spelling(spelling, path)


def _validate_xml_path(path: str) -> None:
    if not _XML_PATH.fullmatch(path):
        words = _("an XML path has the names of elements without prefix, like /Envelope/Body/note or /feed/link/@href")
        raise ValidationError(words, code="invalid")
    if len(path) >= MAX_PATH:
        number = MAX_PATH - 1
        raise ValidationError(
            _("an XML path has at most %(number)s characters"), params={"number": number}, code="invalid"
        )


_VALIDATORS: dict[str, Callable[[str], None]] = {
    "domain": validate_domain_name,
    "path_prefix": validate_path_prefix,
    "path_exact": lambda path: validate_path(PathMatch.EXACT, path),
    "path_glob": lambda path: validate_path(PathMatch.GLOB, path),
    "header": _validate_header,
    "cookie": _validate_cookie,
    "json_path": _validate_json_path,
    "xml_path": _validate_xml_path,
}
