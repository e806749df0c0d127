"""Parse JSON bodies strictly: duplicate keys and invalid text are refused."""

import json
from typing import IO, Any

from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

MAX_BODY_BYTES = 1024 * 1024


class StrictJSONParser(BaseParser):
    """JSON in UTF-8 without duplicate keys, NaN or infinities, of at most 1 MiB."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> Any:
        """Return the value of the body. Raises ParseError, RequestDataTooBig."""
        body = stream.read(MAX_BODY_BYTES + 1)
        if len(body) > MAX_BODY_BYTES:
            raise RequestDataTooBig
        try:
            value = json.loads(
                body.decode("utf-8"), object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant
            )
            # Half a surrogate pair (\ud800) is a text that no database and no answer can hold.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except (ValueError, RecursionError) as error:
            words = str(error) if isinstance(error, _Ambiguous) else "the body is not JSON in UTF-8"
            raise ParseError(words) from None
        return value


class _Ambiguous(ValueError):
    """The text is JSON to one reader and something else to another."""


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _Ambiguous("a field is there twice")
    return fields


def _refuse_constant(name: str) -> Any:
    raise _Ambiguous(f"{name} is not a JSON value")
