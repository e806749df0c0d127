"""Query strings of one meaning: every parameter once, in UTF-8."""

from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request

MAX_SEARCH = 200


def refuse_ambiguous_query(request: Request) -> None:
    """Raise ValidationError for a parameter that is there twice, is not UTF-8 or has a NUL in it.

    Django would take the last of two, and put a question mark for what it cannot read.
    """
    seen: set[str] = set()
    for pair in str(request.META.get("QUERY_STRING") or "").split("&"):
        if not pair:
            continue
        raw_name, _, raw_value = pair.partition("=")
        name = _readable(raw_name, field="")
        _readable(raw_value, field=name)
        if name in seen:
            raise ValidationError({name: [ErrorDetail("this parameter is there twice", code="repeated")]})
        seen.add(name)


def refuse_unknown_parameters(request: Request, known: Iterable[str]) -> None:
    """Raise ValidationError for every parameter that is none of these."""
    if unknown := sorted(set(request.query_params) - set(known)):
        raise ValidationError(
            {name: [ErrorDetail("there is no such parameter", code="unknown-parameter")] for name in unknown}
        )


def search_text(request: Request) -> str:
    """Return the text to search for, empty for none. Raises ValidationError for one that is too long."""
    text: str = request.query_params.get("search", "")
    if len(text) > MAX_SEARCH:
        raise ValidationError({"search": [ErrorDetail(f"at most {MAX_SEARCH} characters", code="max-length")]})
    return text


def _readable(raw: str, *, field: str) -> str:
    try:
        text = unquote_to_bytes(raw.replace("+", " ").encode("latin-1")).decode("utf-8")
    except UnicodeError:
        raise ValidationError({field: [ErrorDetail("percent-encoded UTF-8", code="unreadable")]}) from None
    if "\0" in text:
        raise ValidationError({field: [ErrorDetail("null characters are not allowed", code="unreadable")]})
    return text
