"""Strict JSON parser: rejects duplicate keys and invalid text."""

import json
from typing import IO, Any

from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

MAX_BODY_BYTES = 1024 * 1024


class StrictJSONParser(BaseParser):
    """Parse JSON in UTF-8 without duplicate keys, NaN or infinities, up to 1 MiB."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> Any:
        body = stream.read(MAX_BODY_BYTES + 1)
        if len(body) > MAX_BODY_BYTES:
            raise RequestDataTooBig
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
