"""Values that the built-in rules inspect, and their further forms: unescaped, unquoted, decoded; without line feeds."""

from gatewall.engine.waf.body import json_reader, xml_reader
from gatewall.engine.waf.body.texts import UNINSPECTED, BodyText, field_text, is_long, rest_text
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
from gatewall.engine.waf.scope import part_of

Value = tuple[Region, Name | None, str]
"""Target or region of the body, name of the argument, header, cookie or part of the body, and text (latin-1)."""

MAX_SIGNS = 96
"""Entities, escapes and comments of a request that are decoded; a value with more is inspected as sent behind them."""
MAX_INSPECTED = 3_072
"""Characters of the URI and headers, and again of the body, that all rules inspect; the rest is inspected as text."""
MAX_TEXT = 131_072
"""Characters of texts and files, the rest of other values included, that are inspected: a body, as sent and decoded."""
MAX_FORMED = 16
"""Values whose further forms are inspected one by one; those of further values are inspected as one text."""
MAX_FORMED_OF_MANY = 8
"""The same of a request with more values than are inspected one by one."""
MAX_SIGNS_OF_MANY = 48
MAX_FORMED_LENGTH = 6_144
"""Characters of all values whose further forms are inspected."""
_MAX_TOGETHER = 4_096
_MAX_SIGNS_TOGETHER = 32
MAX_IN_MARKUP = 16
"""Texts in values that are XML that are inspected one by one; what follows in such a value is inspected as one text."""
MAX_CODED = 32  # values that are decoded from base64 or JSON
_MAX_JUDGED = 4_096
"""Characters of long values that are classified as texts or single values; further ones are texts."""
_MAX_JUDGED_OF_ONE = 1_024
_MAX_BASE64 = 16_384  # characters that are inspected as sent of what is decoded as a whole
MAX_APART = 8_192
"""Characters of fields behind ``MAX_INSPECTED`` that are decoded one by one; further fields are decoded as one text."""
_VALUE = 16  # what a value costs besides its characters
_OVERLAP = 256  # of what all rules inspect and the rest, for attacks at the border
_MAX_DEPTH = 3  # base64 in JSON in base64
_MAX_JSON_DEPTH = 6  # JSON in a string of JSON doubles its backslashes, so each level is shorter
_NOT_TRIGGERS = bytes(set(range(256)) - set(b"'\"\\&$`^\x00\xef\xa0"))
_FORMLESS = bytes(set(range(32, 127)) - set(b"'\"\\&*$`^{["))
"""Text of these bytes only contains no trigger, no line feed and no JSON, but possibly base64."""
_BEGINNING = 4_096  # of a long text, tells in most what it holds
_LINE_BREAKS = b"\r\n"
"""In base64, all other characters are formless."""
_JOINT = "\f"
_IN_TOKENS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
_BODY = Target.BODY
_NOTED_AS: dict[Region, Target] = {
    Target.PATH: Target.URI, Target.ARGS: Target.ARGS, Target.ARG_NAMES: Target.ARGS, Target.COOKIES: Target.HEADERS,
    Target.HEADERS: Target.HEADERS, Target.USER_AGENT: Target.HEADERS, Target.REFERER: Target.HEADERS,
}  # fmt: skip
"""The targets of the rule that notes what could not be inspected."""


class Values(list[Value]):
    """The values of a request within bounds, so that a hostile request costs little more than an ordinary one.

    ``left``: characters that all rules may still inspect; ``begin_body`` starts anew. ``has_texts`` if some values are
    inspected by fewer rules.
    """

    __slots__ = (
        "_unformed", "apart_left", "coded_left", "formed_left", "formed_length_left", "has_texts", "is_noted",
        "judged_left", "left", "markup_left", "signs_left", "text_left",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.left = MAX_INSPECTED
        self.text_left = MAX_TEXT
        self.signs_left = MAX_SIGNS
        self.formed_left = MAX_FORMED
        self.formed_length_left = MAX_FORMED_LENGTH
        self.coded_left = MAX_CODED
        self.markup_left = MAX_IN_MARKUP
        self.judged_left = _MAX_JUDGED
        self.apart_left = MAX_APART
        self._unformed: list[str] = []
        self.is_noted = False
        self.has_texts = False

    def joined(self) -> bytes:
        """Return the values as lines of one text, to scan it."""
        return "\n".join([text for _, _, text in self]).encode("latin-1")

    def begin_body(self) -> None:
        self.left = MAX_INSPECTED
        self.is_noted = False

    def put(self, target: Region, name: Name | None, text: str) -> None:
        """Append a value without line feeds; what exceeds the bounds as text, and behind those not at all."""
        if target.__class__ is Target:
            self.left -= len(text) + _VALUE
            if self.left >= 0:
                self.append((target, name, text))
                return
            self.note(target, "rest")
            room = max(len(text) + self.left, 0)
            self.left = 0
            if room:
                self.append((target, name, text[:room]))
            text = text[max(room - _OVERLAP, 0) :]
            name = part_of(target, name)
            target = BodyRegion.TEXT if target is _BODY else BodyRegion.HEAD
        if len(text) > self.text_left:
            self.note(target, "rest")
            text = text[: self.text_left]
        self.text_left -= len(text)
        self.has_texts = True
        if text:
            self.append((target, name, text))

    def note(self, target: Region, what: str) -> None:
        """Append the mark that something is not inspected as it should be; once for the head and once for the body.

        It has no name, because it may stand for several values.
        """
        if not self.is_noted:
            self.is_noted = True
            self.append((_NOTED_AS.get(target, _BODY), None, UNINSPECTED + what))

    def are_texts(self, length: int, long: int) -> bool:
        """True if fields of a body of this length are texts: behind what all rules inspect, or too many long ones."""
        return self.left <= 0 or (self.judged_left <= 0 and length >= long)

    def may_be_apart(self, text: str) -> bool:
        """True if a field that is a text in any case is decoded by itself; else it is with others, without a name."""
        self.apart_left -= len(text)
        return self.apart_left >= 0

    def limit_forms(self) -> None:
        """Inspect the further forms of fewer values one by one: too many values are there, which is noted."""
        self.formed_left = min(self.formed_left, MAX_FORMED_OF_MANY)
        self.signs_left = min(self.signs_left, MAX_SIGNS_OF_MANY)

    def judged(self, found: BodyText) -> BodyText:
        """Return a text of a body with its region; of too many long values, TEXT.

        Behind what all rules inspect, ``put`` makes a text of any value.
        """
        if not found.is_field:
            return found
        if self.left <= 0:
            return rest_text(found.text, found.name, _BODY)
        if is_long(found.text):
            if self.judged_left <= 0:
                return rest_text(found.text, found.name)
            self.judged_left -= min(len(found.text), _MAX_JUDGED_OF_ONE)
        return field_text(found.name, found.text)

    def may_form(self, target: Region, text: str) -> bool:
        """True if the further forms of a value are inspected separately; else they are with those of others."""
        if self.formed_left > 0:
            self.formed_left -= 1
            return True
        self.note(target, "forms")
        self._unformed.append(text)
        return False

    def finish(self) -> None:
        """Append the further forms of the values beyond ``MAX_FORMED``, as one text."""
        if self._unformed:
            text = _JOINT.join(self._unformed)[:_MAX_TOGETHER]
            self.put(BodyRegion.TEXT, None, loosened(split_at_signs(text, _MAX_SIGNS_TOGETHER)[0]).replace("\n", "\r"))


def add(values: Values, target: Region, name: Name | None, text: str, *, base64: bool = True, depth: int = 0) -> None:
    """Add a value and its further forms."""
    unusual = text[:_BEGINNING].encode("latin-1").translate(None, _FORMLESS)
    if text[_BEGINNING:] and not unusual.translate(None, _NOT_TRIGGERS):
        unusual = text.encode("latin-1").translate(None, _FORMLESS)
    is_plain = not (unusual and unusual.translate(None, _LINE_BREAKS))
    if "\n" in text and is_plain:
        text = text.replace("\n", "\r")
    if base64 and is_plain and len(text) >= MIN_BASE64:
        text = _coded(values, target, name, text, depth)
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
        _look_through(values, target, name, text, depth)


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


def _coded(values: Values, target: Region, name: Name | None, text: str, depth: int) -> str:
    """Add what a text of plain characters is decoded to; return what is inspected of it as sent."""
    if not _look_through(values, target, name, text, depth) or len(text) <= _MAX_BASE64:
        return text
    values.note(target, "rest")
    return text[:_MAX_BASE64]


def _add_json(values: Values, target: Region, name: Name | None, text: str, depth: int) -> bool:
    """Add the strings of JSON in a value of the body, between which only structure is; False if it is none."""
    if depth >= _MAX_JSON_DEPTH or values.coded_left <= 0:
        return False
    values.coded_left -= 1
    found = json_reader.read(text)
    for each in found or ():
        _add_inside(values, target, name, each, depth + 1)
    return found is not None


def _other_forms(values: Values, target: Region, name: Name | None, text: str) -> None:
    length = values.formed_length_left
    if len(text) > length:
        text = text[:length]
        values.note(target, "forms")
    values.formed_length_left -= len(text)
    signs = signs_in(text)
    if signs > values.signs_left:
        text, _ = split_at_signs(text, values.signs_left)  # what is behind is inspected as sent
        signs = values.signs_left
        values.note(target, "escapes")
    values.signs_left -= signs
    loose = loosened(text).replace("\n", "\r")
    if loose != text:
        values.put(target, name, loose)
    bare = unquoted(loose)
    if bare != loose:
        values.put(target, name, bare)


def _look_through(values: Values, target: Region, name: Name | None, text: str, depth: int) -> bool:
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
    if text[:3] == "eyJ" and text.count(".") == 2 and not text.encode("latin-1").translate(None, _IN_TOKENS):
        for part in text.split(".")[:2]:
            _look_through(values, target, name, part, depth)
    elif (inside := form_base64_decoded(text)) is not None:
        values.coded_left -= 1
        _add_decoded(values, target, name, inside, depth + 1)
        return True
    elif text[:1] in {"{", "["} and not is_of_body(target):  # ``add`` tried it
        values.coded_left -= 1
        for each in json_reader.read(text) or ():
            _add_inside(values, target, name, each, depth + 1)
    return False


def _add_decoded(values: Values, target: Region, name: Name | None, inside: str, depth: int) -> None:
    """Add what was base64: XML (SAML) by its texts, several lines as a file."""
    if xml_reader.looks_like_xml(inside) and (found := xml_reader.read(inside, is_declared=False)) is not None:
        for each in found:
            _add_inside(values, target, name, each, depth)
        return
    text = percent_decoded(inside)
    if "\n" in text and is_of_body(target):
        target = BodyRegion.FILE
    add(values, target, name, text, depth=depth)


def _add_inside(values: Values, target: Region, name: Name | None, found: BodyText, depth: int) -> None:
    found = values.judged(found)
    region = found.region if target is _BODY or target is BodyRegion.TEXT else target
    add(values, region, name, percent_decoded(found.text), depth=depth)
