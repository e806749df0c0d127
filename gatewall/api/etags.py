"""Entity tags and conditional requests: ``If-Match``, ``If-None-Match`` (RFC 9110 section 13)."""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from rest_framework import status
from rest_framework.exceptions import APIException, ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from gatewall.api.codes import CODES

_TAG = r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"'
TAGS_PATTERN = rf"^([ \t]*\*[ \t]*|[ \t,]*{_TAG}([ \t]*,[ \t,]*{_TAG})*[ \t,]*)$"
"""Pattern of ``If-Match`` for the OpenAPI document."""
_TAGS = re.compile(rf"[ \t,]*{_TAG}(?:[ \t]*,[ \t,]*{_TAG})*[ \t,]*")


class Stale(APIException):
    """The object was changed since the caller read it."""

    status_code = status.HTTP_412_PRECONDITION_FAILED
    default_detail = "it was changed since you read it"
    default_code = CODES[status_code]


def tag_of(content: Mapping[str, Any], volatile: Collection[str] = ()) -> str:
    """Return the strong entity tag of an object's JSON.

    Volatile fields such as counters are hashed separately behind a dot: ``If-None-Match`` compares both parts,
    ``If-Match`` only the first.
    """
    stable = _digest({name: value for name, value in content.items() if name not in volatile})
    if not volatile:
        return f'"{stable}"'
    return f'"{stable}.{_digest({name: content.get(name) for name in volatile})}"'


def has_condition(request: Request) -> bool:
    """Return whether a write is conditional."""
    return "If-Match" in request.headers or "If-None-Match" in request.headers


def refuse_stale(request: Request, tag: str) -> None:
    """Raise Stale unless the conditions of a write match this tag.

    A weak tag never matches. Raises ValidationError for a malformed ``If-Match``, because ignoring it would drop a
    protection that the caller requested.
    """
    if_match = request.headers.get("If-Match")
    if if_match is not None and if_match.strip() != "*":
        tags = _parse(if_match)
        if tags is None:
            raise ValidationError({"If-Match": [ErrorDetail("a list of entity tags, or *", code="malformed")]})
        if _stable_part(tag) not in {_stable_part(opaque) for weak, opaque in tags if not weak}:
            raise Stale
    if _is_none_match(request, tag):
        raise Stale("it is there, and If-None-Match says that it must not be")


def conditional_response(request: Request, content: Any, tag: str) -> Response:
    """Return the response to a GET of one object: 304 if the caller's copy is current.

    The browsable page is another representation, without a tag.
    """
    if getattr(request.accepted_renderer, "format", "json") == "api":
        return Response(content)
    if _is_none_match(request, tag):
        return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": tag})
    return Response(content, headers={"ETag": tag})


def _is_none_match(request: Request, tag: str) -> bool:
    """Return whether ``If-None-Match`` matches this object; a malformed one matches nothing."""
    if_none_match = request.headers.get("If-None-Match")
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or tag.strip('"') in {opaque for _, opaque in _parse(if_none_match) or ()}


def _parse(header: str) -> list[tuple[bool, str]] | None:
    """Parse a list of tags into (is weak, opaque text); None if it is malformed."""
    lines = header.split("\n")  # see gatewall/server/environ.py
    if not all(_TAGS.fullmatch(line) for line in lines):
        return None
    return [(bool(weak), opaque) for line in lines for weak, opaque in re.findall(_TAG, line)]


def _stable_part(tag: str) -> str:
    return tag.strip('"').partition(".")[0]


def _digest(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, cls=JSONEncoder, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
