"""Add a value and its further forms: unescaped, unquoted, decoded from base64, JSON and XML. Bounded, no I/O."""

from collections.abc import Sequence

from gatewall.engine.waf.body import json_reader, xml_reader
from gatewall.engine.waf.body.texts import BODY_MARK, BodyText
from gatewall.engine.waf.decoding import (
    MIN_BASE64,
    base64_decoded,
    form_base64_decoded,
    loosened,
    signs_in,
    split_at_signs,
    unquoted,
)
from gatewall.engine.waf.exclusions import Name
from gatewall.engine.waf.percent import percent_decoded
from gatewall.engine.waf.rules import BodyRegion, Region, Target, is_of_body
from gatewall.engine.waf.values import Values

_MAX_BASE64 = 6_144  # characters inspected as sent of a text that is base64 as a whole
_MAX_DEPTH = 3  # base64 in JSON in base64
_MAX_JSON_DEPTH = 6  # JSON in a string of JSON doubles its backslashes, so each level is shorter
_NOT_TRIGGERS = bytes(set(range(256)) - set(b"'\"\\&$`^\x00\xef\xa0"))
_FORMLESS = bytes(set(range(32, 127)) - set(b"'\"\\&*$`^{["))
"""Text of these bytes only contains no trigger, no line feed and no JSON, but possibly base64."""
_BEGINNING = 4_096  # the beginning of a long text shows in most cases what it contains
_LINE_BREAKS = b"\r\n"
"""In base64, all other characters are formless."""
_IN_TOKENS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
_JOINT = "\f"
_BODY = Target.BODY


def add(  # noqa: C901 - one function, because an ordinary request calls it for each value
    values: Values, target: Region, name: Name | None, text: str, *, base64: bool = True, depth: int = 0
) -> None:
    """Add a value and its further forms."""
    unusual = text[:_BEGINNING].encode("latin-1").translate(None, _FORMLESS)
    if text[_BEGINNING:] and not unusual.translate(None, _NOT_TRIGGERS):
        if base64 and not unusual.translate(None, _LINE_BREAKS):
            text = text.replace("\n", "\r")
            if _add_encoded(values, target, name, text, depth):  # then it is known to be plain
                _put_beginning(values, target, name, text)
                return
            base64 = False
        unusual = text.encode("latin-1").translate(None, _FORMLESS)
    is_plain = not (unusual and unusual.translate(None, _LINE_BREAKS))
    if "\n" in text and is_plain:
        text = text.replace("\n", "\r")
    if base64 and is_plain and len(text) >= MIN_BASE64:
        _add_encoded(values, target, name, text, depth)
    if not unusual:
        values.put(target, name, text)
        return
    if text[:1] in {"{", "["} and is_of_body(target) and _add_json(values, target, name, text, depth):
        return
    if target is _BODY and text[:1] == "<" and text[-1:] == ">":
        target = _markup(values, name, text, depth)
    if "\n" in text:
        text = text.replace("\n", "\r")
    values.put(target, name, text)
    is_file = target is BodyRegion.FILE  # a site that runs it does not decode it before
    has_forms = not is_file and (unusual.translate(None, _NOT_TRIGGERS) or (b"*" in unusual and "/*" in text))
    if has_forms and values.may_form(target, text):
        _other_forms(values, target, name, text)
    if base64 and not is_plain and text[:1] in {"{", "["}:
        _add_encoded(values, target, name, text, depth)


def _markup(values: Values, name: Name | None, text: str, depth: int) -> Region:
    """Add the texts of a value that is XML; return the region of its markup: as that of an editor."""
    most = values.markup_left
    if depth >= _MAX_DEPTH or values.coded_left <= 0 or most <= 0:
        return _BODY
    values.coded_left -= 1
    found = xml_reader.read(text, is_declared=False, is_markup=True, most=most)
    values.markup_left -= 1 + (min(text.count("<") // 2, most) if found is None else len(found))
    for each in found or ():
        _add_inside(values, _BODY, name, each, _MAX_DEPTH)
    return _BODY if found is None else BodyRegion.TEXT


def _put_beginning(values: Values, target: Region, name: Name | None, text: str) -> None:
    """Add the beginning of a text that is base64 as a whole, to inspect it as sent."""
    if len(text) > _MAX_BASE64:
        values.note(target, "rest")
    values.put(target, name, text[:_MAX_BASE64])


def _add_json(values: Values, target: Region, name: Name | None, text: str, depth: int) -> bool:
    """Add the strings of a JSON value in the body, without the structure between them; False if it is not JSON."""
    if depth >= _MAX_JSON_DEPTH or values.coded_left <= 0:
        return False
    if values.inside_left <= 0 and "\\" not in text and text[-1:] in {"]", "}"}:
        values.note(target, "body")
        add(values, BodyRegion.TEXT, name, _JOINT + text.replace('"', _JOINT), base64=False)
        return True
    values.coded_left -= 1
    found = json_reader.read(text, most=values.inside_left)
    _add_all_inside(values, target, name, found or (), depth + 1)
    return found is not None


def _other_forms(values: Values, target: Region, name: Name | None, text: str) -> None:
    length = values.formed_length_left
    if len(text) > length:
        text = text[:length]
        values.note(target, "forms")
    values.formed_length_left -= len(text)
    signs = signs_in(text)
    if signs > values.signs_left:
        text, _ = split_at_signs(text, values.signs_left)  # the rest is inspected as sent
        signs = values.signs_left
        values.note(target, "escapes")
    values.signs_left -= signs
    loose = loosened(text).replace("\n", "\r")
    if loose != text:
        values.put(target, name, loose)
    bare = unquoted(loose)
    if bare != loose:
        values.put(target, name, bare)


def _add_encoded(values: Values, target: Region, name: Name | None, text: str, depth: int) -> bool:
    """Add values decoded from base64, JSON, or a token (JWT); True if the text is base64."""
    if target is BodyRegion.FILE or (len(text) < MIN_BASE64 and text[:1] not in {"{", "["}):
        return False
    if depth >= _MAX_DEPTH:
        if base64_decoded(text) is not None:
            values.note(target, "layers")
        return False
    if values.coded_left <= 0:
        values.note(target, "layers")
        return False
    if (
        text[:3] == "eyJ"
        and "." in text
        and len(text.split(".", 3)) == 3
        and not text.encode("latin-1").translate(None, _IN_TOKENS)
    ):
        for part in text.split(".")[:2]:
            _add_encoded(values, target, name, part, depth)
    elif (inside := form_base64_decoded(text)) is not None:
        values.coded_left -= 1
        _add_decoded(values, target, name, inside, depth + 1)
        return True
    elif text[:1] in {"{", "["} and not is_of_body(target):  # else ``add`` has tried it
        if not values.inside_left and "\\" not in text:
            values.note(target, "layers")
            return False
        values.coded_left -= 1
        _add_all_inside(values, target, name, json_reader.read(text, most=values.inside_left) or (), depth + 1)
    return False


def _add_decoded(values: Values, target: Region, name: Name | None, inside: str, depth: int) -> None:
    """Add text decoded from base64: XML (SAML) by its texts, several lines as a file."""
    if xml_reader.looks_like_xml(inside):
        found = xml_reader.read(inside, is_declared=False, most=values.inside_left)
        if found is not None:
            _add_all_inside(values, target, name, found, depth)
            return
    text = percent_decoded(inside)
    if "\n" in text and is_of_body(target):
        target = BodyRegion.FILE
    add(values, target, name, text, depth=depth)


def _add_all_inside(values: Values, target: Region, name: Name | None, found: Sequence[BodyText], depth: int) -> None:
    values.inside_left = max(values.inside_left - len(found), 0)
    for each in found:
        if each.text == BODY_MARK:
            values.note(target, "body")
        else:
            _add_inside(values, target, name, each, depth)


def _add_inside(values: Values, target: Region, name: Name | None, found: BodyText, depth: int) -> None:
    found = values.judged(found)
    region = found.region if target is _BODY or target is BodyRegion.TEXT else target
    add(values, region, name, percent_decoded(found.text), depth=depth)
