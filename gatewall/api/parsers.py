"""Strict JSON parser: rejects duplicate keys and invalid text."""

import json
from typing import IO, Any

from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from gatewall.kernel.request_bodies import MAX_BODY, MAX_LARGE_BODY


def largest_body(view: Any, method: str) -> int:
    """Return the maximum number of bytes in the body of a request to this view; None: any other page."""
    return MAX_LARGE_BODY if method in getattr(view, "large_bodies", ()) else MAX_BODY


class BodyTooLarge(RequestDataTooBig):
    """The body has more bytes than ``largest_body`` allows."""

    def __init__(self, most: int) -> None:
        super().__init__(f"a body has at most {most // 1024 // 1024} MiB")


class StrictJSONParser(BaseParser):
    """Parse JSON in UTF-8 without duplicate keys, NaN or infinities, of at most ``largest_body`` bytes."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> Any:
        context = parser_context or {}
        most = largest_body(context.get("view"), str(getattr(context.get("request"), "method", "")))
        body = stream.read(most + 1)
        if len(body) > most:
            raise BodyTooLarge(most)
        try:
            value = json.loads(
                body.decode("utf-8"), object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant
            )
            # Lone surrogates (\ud800) cannot be encoded for the database or a response.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except (ValueError, RecursionError) as error:
            words = str(error) if isinstance(error, _Ambiguous) else "the body is not JSON in UTF-8"
            raise ParseError(words) from None
        return value


class _Ambiguous(ValueError):
    """JSON that parsers interpret differently."""


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _Ambiguous("a field is there twice")
    return fields


def _refuse_constant(name: str) -> Any:
    raise _Ambiguous(f"{name} is not a JSON value")
