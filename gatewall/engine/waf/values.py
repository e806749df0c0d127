"""Values that the built-in rules inspect, and their further forms: without entities, escapes, quotes; decoded. No I/O.

No value contains a line feed, which joins values for the scan.
"""

from gatewall.engine.waf.body import json_reader, xml_reader
from gatewall.engine.waf.body.texts import UNINSPECTED, BodyText
from gatewall.engine.waf.decoding import (
    MIN_BASE64,
    base64_decoded,
    loosened,
    percent_decoded,
    signs_in,
    split_at_signs,
    unquoted,
)
from gatewall.engine.waf.rules import BodyRegion, Region, Target

Value = tuple[Region, str | None, str]
"""Target or region of the body, name of the argument, header or cookie, and text (latin-1)."""

MAX_SIGNS = 512
"""Entities, escapes and comments of a request that are decoded; a value with more is inspected as sent behind them."""
_MAX_DEPTH = 3  # base64 in JSON in base64
_MAX_JSON_DEPTH = 6  # JSON in a string of JSON doubles its backslashes, so each level is shorter
_TRIGGERS = ("'", '"', "\\", "&", "/*", "$", "`", "^", "\x00", "\xef", "\xa0")
_FORMLESS = bytes(set(range(32, 127)) - set(b"'\"\\&*$`^{["))
"""Text of these bytes only contains no trigger, no line feed and no JSON, but possibly base64."""
_IN_TOKENS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
_BODY = Target.BODY
_NOTED_AS: dict[Region, Target] = {
    Target.PATH: Target.URI, Target.ARGS: Target.ARGS, Target.ARG_NAMES: Target.ARGS, Target.COOKIES: Target.HEADERS,
    Target.HEADERS: Target.HEADERS, Target.USER_AGENT: Target.HEADERS, Target.REFERER: Target.HEADERS,
}  # fmt: skip
"""The targets of the rule that notes what could not be inspected."""


class Values(list[Value]):
    """The values of a request, and how many entities, escapes and comments may still be decoded."""

    __slots__ = ("signs_left",)

    def __init__(self) -> None:
        super().__init__()
        self.signs_left = MAX_SIGNS


def add(values: Values, target: Region, name: str | None, text: str, *, base64: bool = True, depth: int = 0) -> None:
    """Add a value and its further forms."""
    if not text.encode("latin-1").translate(None, _FORMLESS):
        values.append((target, name, text))
        if base64 and len(text) >= MIN_BASE64:
            _look_through(values, target, name, text, depth)
        return
    if text[:1] in {"{", "["} and _is_of_body(target) and depth < _MAX_JSON_DEPTH:
        found = json_reader.read(text)
        if found is not None:  # only structure is between its strings
            for each in found:
                _add_inside(values, target, name, each, depth + 1)
            return
    if "\n" in text:
        text = text.replace("\n", "\r")
    values.append((target, name, text))
    if any(trigger in text for trigger in _TRIGGERS):
        _other_forms(values, target, name, text)
    if base64:
        _look_through(values, target, name, text, depth)


def _other_forms(values: Values, target: Region, name: str | None, text: str) -> None:
    signs = signs_in(text)
    if signs > values.signs_left:
        text, _ = split_at_signs(text, values.signs_left)  # what is behind is inspected as sent
        signs = values.signs_left
        if target is not BodyRegion.FILE:
            values.append((_NOTED_AS.get(target, _BODY), name, UNINSPECTED + "escapes"))
    values.signs_left -= signs
    loose = loosened(text).replace("\n", "\r")
    if loose != text:
        values.append((target, name, loose))
    bare = unquoted(loose)
    if bare != loose:
        values.append((target, name, bare))


def _look_through(values: Values, target: Region, name: str | None, text: str, depth: int) -> None:
    """Add values decoded from base64, JSON, or a token (JWT)."""
    if depth >= _MAX_DEPTH or target is BodyRegion.FILE or (len(text) < MIN_BASE64 and text[:1] not in {"{", "["}):
        return
    if text[:3] == "eyJ" and text.count(".") == 2 and not text.encode("latin-1").translate(None, _IN_TOKENS):
        for part in text.split(".")[:2]:
            _look_through(values, target, name, part, depth)
    elif (inside := base64_decoded(_pluses_restored(text))) is not None:
        _add_decoded(values, target, name, inside, depth + 1)
    elif text[:1] in {"{", "["}:
        for each in json_reader.read(text) or ():
            _add_inside(values, target, name, each, depth + 1)


def _pluses_restored(text: str) -> str:
    """Return base64 from a form whose client did not encode its plus signs; line breaks removed."""
    if " " in text:
        text = text.replace(" ", "+")
    return text.replace("\r", "") if "\r" in text else text


def _add_decoded(values: Values, target: Region, name: str | None, inside: str, depth: int) -> None:
    """Add what was base64: XML (SAML) by its texts, several lines as a file."""
    if xml_reader.looks_like_xml(inside) and (found := xml_reader.read(inside, is_declared=False)) is not None:
        for each in found:
            _add_inside(values, target, name, each, depth)
        return
    text = percent_decoded(inside)
    if "\n" in text and _is_of_body(target):
        target = BodyRegion.FILE
    add(values, target, name, text, depth=depth)


def _add_inside(values: Values, target: Region, name: str | None, found: BodyText, depth: int) -> None:
    region = found.region if target is _BODY or target is BodyRegion.TEXT else target
    add(values, region, name, percent_decoded(found.text), depth=depth)


def _is_of_body(target: Region) -> bool:
    return target is _BODY or isinstance(target, BodyRegion)
