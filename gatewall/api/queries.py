"""Strict query strings: every parameter at most once, in UTF-8."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import unquote_to_bytes

from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request

from gatewall.api.serializers import MomentField
from gatewall.api.translation import translated
from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _

MAX_SEARCH = 200
WITHOUT_NULL = "^[^\\u0000]*$"
"""Pattern of every text in a query (ECMA 262)."""
_MOST_DIGITS = 18


def refuse_ambiguous_query(request: Request) -> None:
    """Raise ValidationError for a parameter that is repeated, not UTF-8, or contains NUL.

    Django would use the last of two values, and replace invalid bytes.
    """
    seen: set[str] = set()
    for pair in str(request.META.get("QUERY_STRING") or "").split("&"):
        if not pair:
            continue
        raw_name, _equals, raw_value = pair.partition("=")
        name = _readable(raw_name, field="")
        _readable(raw_value, field=name)
        if name in seen:
            raise refused_parameter(name, _("this parameter is given twice"), code="repeated")
        seen.add(name)


def refuse_unknown_parameters(request: Request, known: Iterable[str]) -> None:
    """Raise ValidationError for unknown parameters."""
    if unknown := sorted(set(request.query_params) - set(known)):
        raise ValidationError(
            {
                name: [ErrorDetail(translated(_("this parameter is unknown")), code="unknown-parameter")]
                for name in unknown
            }
        )


def refused_parameter(name: str, message: str, *, code: str = "invalid", **params: object) -> ValidationError:
    """Return a ValidationError for a parameter, in the active language."""
    return ValidationError({name: [ErrorDetail(translated(Message(message, **params)), code=code)]})


def moment_in(request: Request, name: str) -> datetime | None:
    """Return a parameter as a datetime, None if absent. Raises ValidationError."""
    if name not in request.query_params:
        return None
    try:
        moment: datetime = MomentField().run_validation(request.query_params[name])
    except ValidationError as error:
        raise ValidationError({name: error.detail}) from None
    return moment


def whole_number_in(
    request: Request, name: str, low: int, high: int, *, message: str = _("a whole number from %(low)s to %(high)s")
) -> int | None:
    """Return a parameter as a whole number within bounds, None if absent. Raises ValidationError."""
    text: str | None = request.query_params.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS and low <= int(text) <= high):
        raise refused_parameter(name, message, low=low, high=high)
    return int(text)


def choice_in(request: Request, name: str, choices: Sequence[str]) -> str:
    """Return a parameter that must be one of ``choices``, by default the first. Raises ValidationError."""
    value: str = request.query_params.get(name, choices[0])
    if value not in choices:
        raise refused_parameter(name, _("one of %(values)s"), values=", ".join(choices))
    return value


def search_text(request: Request) -> str:
    """Return the search text, empty if absent. Raises ValidationError if it is too long."""
    text: str = request.query_params.get("search", "")
    if len(text) > MAX_SEARCH:
        raise refused_parameter("search", _("at most %(number)s characters"), number=MAX_SEARCH, code="max-length")
    return text


def _readable(raw: str, *, field: str) -> str:
    try:
        text = unquote_to_bytes(raw.replace("+", " ").encode("latin-1")).decode("utf-8")
    except UnicodeError:
        raise refused_parameter(field, _("percent-encoded UTF-8"), code="unreadable") from None
    if "\0" in text:
        raise refused_parameter(field, _("null characters are not allowed"), code="unreadable")
    return text
