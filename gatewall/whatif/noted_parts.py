"""Parts of a request in which a WAF rule matched, and the fields of exclusions that name them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.core.exceptions import ValidationError

from audit.spool.masking import MASK
from gatewall.engine.waf.exclusions import Exclusion, Part, PartName
from gatewall.engine.waf.rules import Target
from policies.exclusions import validate_exclusions

_PARTS: dict[str, Part] = {
    Target.ARGS: Part.ARGUMENT,
    Target.ARG_NAMES: Part.ARGUMENT,
    Target.HEADERS: Part.HEADER,
    Target.COOKIES: Part.COOKIE,
}


def noted_parts(noted: Mapping[str, Any] | None) -> list[PartName]:
    """Return the parts that an exclusion must name to cover a noted place; none if the place has no name.

    The log does not say whether a body field was in a form or a multipart body: both parts are returned.
    """
    target, name = (noted or {}).get("target"), (noted or {}).get("name")
    if target in {Target.USER_AGENT, Target.REFERER}:
        return [(Part.HEADER, target)]
    if not name or MASK in name:
        return []
    if target != Target.BODY:
        return [(_PARTS[target], as_sent(name))] if target in _PARTS else []
    if name.startswith("$"):
        return [(Part.JSON_PATH, name)]
    if name.startswith("/"):
        return [(Part.XML_PATH, name)]
    return [(Part.ARGUMENT, as_sent(name)), (Part.MULTIPART_FIELD, as_sent(name))]


def as_sent(name: str) -> str:
    """Return a decoded name of the log as it was sent: its bytes as latin-1 characters."""
    return name.encode("utf-8", "surrogatepass").decode("latin-1")


def with_field(exclusion: Exclusion, field: str, name: str) -> Exclusion:
    """Return the exclusion with one more field."""
    fields: dict[str, Any] = {field: name}
    return replace(exclusion, **fields)


def field_of(part: PartName | None) -> tuple[str, str] | None:
    """Return the field of an exclusion that names this part, and its value; None if no exclusion can name it."""
    kind, name = part or (None, "")
    if kind is None:
        return None
    try:
        text = name if kind in {Part.JSON_PATH, Part.XML_PATH} else name.encode("latin-1").decode("utf-8")
        validate_exclusions([{kind.value: text}])
    except (UnicodeError, ValidationError):
        return None
    return kind.value, text
