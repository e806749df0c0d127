"""Problem details (RFC 9457) in the OpenAPI document: one schema, and one response per status."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from gatewall.api.codes import CODES, PROBLEM_CODES
from gatewall.api.problems import MEDIA_TYPE, status_of
from gatewall.kernel.refusals import Refusal

Schema = dict[str, Any]
_HEADERS = {401: ["WWW-Authenticate"], 429: ["Retry-After"], 503: ["Retry-After"]}


def problem_schemas() -> Schema:
    """Return the schemas ``Problem`` and ``Problem<status>``."""
    return {"Problem": _any_problem(), **{f"Problem{status}": _problem_of(status) for status in CODES}}


def problem_responses() -> Schema:
    """Return the responses ``Problem<status>``."""
    return {f"Problem{status}": _problem(status) for status in sorted(CODES)}


def headers(*names: str) -> Schema:
    """Return references to these headers."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _any_problem() -> Schema:
    text = {"type": "string"}
    names = ["field", "code", "message"]
    place = {"line": {"type": "integer"}, "column": {"type": "integer"}, "pointer": text}  # of a policy document
    errors = {"type": "object", "properties": {**dict.fromkeys(names, text), **place}, "required": names}
    members = {"type": text, "title": text, "status": {"type": "integer"}, "detail": text}
    code = {"type": "string", "enum": sorted(PROBLEM_CODES)}
    properties = {**members, "code": code, "errors": {"type": "array", "items": errors}}
    return {"type": "object", "properties": properties, "required": [*members, "code"]}


def _problem_of(status: int) -> Schema:
    codes = {CODES[status], *(each.code for each in _refusals() if status_of(each) == status)} & PROBLEM_CODES
    # no const: client generators can only merge an enum with the type in Problem
    properties = {"status": {"type": "integer", "enum": [status]}, "code": {"type": "string", "enum": sorted(codes)}}
    return {"allOf": [{"$ref": "#/components/schemas/Problem"}, {"type": "object", "properties": properties}]}


def _problem(status: int) -> Schema:
    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/Problem{status}"}}}
    answer: Schema = {"description": HTTPStatus(status).phrase, "content": content}
    if names := _HEADERS.get(status):
        answer["headers"] = headers(*names)
    return answer


def _refusals(kind: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    for each in kind.__subclasses__():
        if hasattr(each, "code"):
            yield each
        yield from _refusals(each)
