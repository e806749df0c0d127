"""Texts, attributes and declarations in XML, with their paths: ``/Envelope/Body/a/@b``. Bounded, no I/O.

Expat parses; entities are not expanded: a document that declares one is read as raw text.
"""

from typing import Any
from xml.parsers import expat

from gatewall.engine.waf.body import charsets
from gatewall.engine.waf.body.references import unescaped
from gatewall.engine.waf.body.texts import BODY_MARK, BodyText, are_locations, as_wire, field
from gatewall.engine.waf.decoding import MIN_BASE64
from gatewall.engine.waf.exclusions import Part
from gatewall.engine.waf.rules import BodyRegion

MAX_VALUES = 64
"""Texts and attributes that are inspected one by one; what follows is inspected as one text."""
MAX_OF_MANY = 16
"""The same in a document of over 512 elements."""
_MANY = 1_024  # tags
_PIECE = 4_096
_MAX_ELEMENTS = 256
_MAX_DECLARATION = 512
MAX_PATH = 128
"""Maximum length of a path; of a longer one the end is kept."""
_MAX_DEPTH = 256
_KNOWN_DTDS = ("http://www.apple.com/DTDs/", "http://www.w3.org/")
"""Document types of property lists and XHTML: named in each such file."""
EBCDIC = "\x4c\x6f\xa7\x94"
"""First bytes of XML in EBCDIC."""
_MAX_RECODED = 32_768
"""Bytes that are decoded of a document whose charset expat does not read; the rest is marked, and read as a file."""
_WIDE = (
    "\xff\xfe<\x00", "\xfe\xff\x00<", "<\x00?\x00", "\x00<\x00?", EBCDIC, "\xff\xfe\x00\x00<\x00",
    "\x00\x00\xfe\xff\x00\x00", "<\x00\x00\x00?\x00", "\x00\x00\x00<\x00\x00",
)  # fmt: skip
"""First bytes of XML in UTF-16, UTF-32 or EBCDIC."""


_SCRIPTS = frozenset({"script", "iframe", "embed", "applet", "svg"})
_ELEMENTS = """
    a applet area audio b base bgsound blink body br button canvas details dialog div embed font form frame frameset h1
    head hr html i iframe image img input ins isindex keygen link marquee math meta object p picture portal script
    select source span style svg table template textarea title u video xmp xss
    """
_HTML = frozenset(_ELEMENTS.split())
_OF_FORMS = frozenset({"button", "form", "input", "link", "select", "textarea"})


class _Forbidden(Exception):
    """The document declares an entity, is nested too deep, or may be HTML."""


def looks_like_xml(text: str) -> bool:
    """True if a text (latin-1) begins like XML, in UTF-8 or UTF-16."""
    begin = text[:64].lstrip("\xef\xbb\xbf \t\r\n")
    return (begin[:1] == "<" and (begin[1:2].isalpha() or begin[1:2] in {"?", "!", "_"})) or begin.startswith(_WIDE)


def is_wide(text: str) -> bool:
    """True if a text (latin-1) begins like XML in UTF-16, UTF-32 or EBCDIC."""
    return text.startswith(_WIDE)


def read(
    text: str,
    *,
    is_whole: bool = True,
    is_declared: bool = True,
    is_only_xml: bool = False,
    is_markup: bool = False,
    most: int = MAX_VALUES,
) -> list[BodyText] | None:
    """Return texts, attributes and declarations of a document (latin-1); None if it is not well-formed.

    For a document that is not whole, return the parsed part. A document that is not declared as XML may be an attack
    with an HTML element: then return None. ``is_only_xml`` if sites read it only as XML, so that exclusions apply to
    its paths. ``is_markup`` for the value of an argument: return None also for namespaces or the elements of a form.
    """
    data = text.encode("latin-1")
    encoding = _encoding(data)
    if not charsets.is_known(encoding):
        return None
    most = min(most, MAX_OF_MANY) if len(data.split(b"<", _MANY + 1)) > _MANY + 1 else most  # counting takes longer
    reader = _Reader(may_be_html=is_declared, is_only_xml=is_only_xml, is_markup=is_markup, most=most)
    other = charsets.document(data[:_MAX_RECODED], encoding)
    if other is None:
        return _read(reader, data, is_whole=is_whole)
    is_cut = len(data) > _MAX_RECODED
    found = _read(reader, other[other.find(b"?>") + 2 :], is_whole=is_whole and not is_cut)
    if charsets.is_shifted(encoding):
        reader = _Reader(may_be_html=is_declared, is_only_xml=is_only_xml, is_markup=is_markup, most=most)
        as_sent = _read(reader, data, is_whole=is_whole)  # as sites with expat read it
        found = as_sent if found is None else found + (as_sent or [])
    if found is not None and is_cut:
        found += [BodyText(None, text[_MAX_RECODED:], BodyRegion.FILE), BodyText(None, BODY_MARK)]
    return found


def _read(reader: "_Reader", data: bytes, *, is_whole: bool) -> list[BodyText] | None:
    """Return the texts of a document in a charset that expat reads."""
    try:
        reader.parse(data, is_whole=is_whole)
    except (expat.ExpatError, _Forbidden, ValueError, LookupError):
        return None
    except _LimitReached:
        pass
    found, rest_at = reader.result(), reader.rest_at
    if rest_at is not None or not is_whole:
        rest = data[reader.parser.CurrentByteIndex if rest_at is None else rest_at :]
        found.append(BodyText(None, unescaped(rest), BodyRegion.TEXT))
    return found if rest_at is None else [*found, BodyText(None, BODY_MARK)]


def _encoding(data: bytes) -> str:
    """Return the encoding that a declaration names, in any width or in EBCDIC; UTF-8 without one."""
    if data.startswith(EBCDIC.encode("latin-1")):
        data = data[:_MAX_DECLARATION].decode("cp037").encode("latin-1")
    head = data[:_MAX_DECLARATION].replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf").lstrip(b"\xff\xfe")
    declaration = head.partition(b"?>")[0].decode("latin-1") if head.startswith(b"<?xml") else ""
    _, equals, value = declaration.partition("encoding")[2].partition("=")
    value = value.lstrip()
    return value[1:].partition(value[:1])[0] if equals and value else "utf-8"


def _has_long_tag(data: bytes) -> bool:
    """True if a document may have a long tag: a piece in which no tag begins."""
    return any(data.find(b"<", begin, begin + _PIECE) < 0 for begin in range(0, len(data) - _PIECE, _PIECE))


class _LimitReached(Exception):
    """The limit of texts is reached."""


class _Reader:
    def __init__(self, *, may_be_html: bool, is_only_xml: bool, is_markup: bool, most: int) -> None:
        self._may_be_html = may_be_html
        self._is_markup = is_markup
        self._part = Part.XML_PATH if is_only_xml else None
        self.most = most
        self.rest_at: int | None = None
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._instruction
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        self._found: list[BodyText] = []
        self._names: dict[str, None] = {}
        self._path: list[str] = []
        self._elements = self._others = 0
        self._text: list[str] = []

    def parse(self, data: bytes, *, is_whole: bool) -> None:
        """Parse in pieces, as expat reads to the end of one; a long tag of many attributes is left for the rest."""
        at, has_long_tag = 0, None
        for at in range(2 * _PIECE, len(data), 2 * _PIECE):
            self.parser.Parse(data[at - 2 * _PIECE : at], False)
            begin = self.parser.CurrentByteIndex
            if at - begin >= _PIECE and has_long_tag is None:
                has_long_tag = _has_long_tag(data)
            if at - begin >= _PIECE and has_long_tag and data.count(b"=", begin, at) > 2 * self.most:
                if self._is_markup or not (self._may_be_html or self._elements):
                    raise _Forbidden
                self._flush()
                self.rest_at = begin
                raise _LimitReached
        self.parser.Parse(data[at:], is_whole)

    def add(self, path: str | None, text: str) -> None:
        if not (len(text) < MIN_BASE64 and (text.isalnum() or not text or text.isspace())):
            name = (self._part, path[-MAX_PATH:]) if path else None
            self._found.append(field(name, text))

    def result(self) -> list[BodyText]:
        if self._names:
            self.add(None, " ".join(self._names))
        return self._found

    def _check(self) -> None:
        """Raise _LimitReached if the limit is reached; the text before is added, because the rest begins after it."""
        self._others += 1
        if len(self._found) >= self.most or self._others > _MAX_ELEMENTS:
            self._flush()
            raise self._limit_reached()

    def _limit_reached(self) -> _LimitReached:
        """Return the exception that ends reading before the current event; once raised, expat is past the event."""
        self.rest_at = self.parser.CurrentByteIndex
        return _LimitReached()

    def _where(self) -> str:
        return "/" + "/".join(self._path)

    def _flush(self) -> None:
        if self._text:
            text = "".join(self._text)
            self._text.clear()
            if not text.isspace():
                self.add(self._where(), as_wire(text))

    def _start(self, name: str, attributes: list[str]) -> None:
        if self._text:
            self._flush()
        self._elements += 1
        local = name.rpartition(":")[2]
        lower = local.lower()
        if len(self._path) >= _MAX_DEPTH or not (self._path or self._may_be_html or lower not in _HTML):
            raise _Forbidden
        if self._is_markup and (lower in _OF_FORMS or any(":" in each for each in (name, *attributes[::2]))):
            raise _Forbidden
        if len(self._found) >= self.most or self._elements > _MAX_ELEMENTS or len(attributes) > 2 * self.most:
            raise self._limit_reached()
        self._path.append(local)
        if lower in _SCRIPTS or (attributes and any(each[:2].lower() == "on" for each in attributes[::2])):
            pairs = zip(attributes[::2], attributes[1::2], strict=True)
            tag = " ".join([local, *[f'{each}="{value}"' for each, value in pairs]])
            self.add(None, as_wire(f"<{tag}>"))
        if not name.isalnum():
            self._names[as_wire(name)] = None
        for attribute, value in zip(attributes[::2], attributes[1::2], strict=True) if attributes else ():
            if attribute.endswith("chemaLocation") and are_locations(value):
                self._found.append(BodyText(None, as_wire(value), BodyRegion.TEXT))
            else:
                self.add(f"{self._where()}/@{attribute}", as_wire(value))

    def _end(self, _name: str) -> None:
        if self._text:
            self._flush()
        self._path.pop()
        if len(self._found) > self.most:  # texts between the ends of nested elements
            raise self._limit_reached()

    def _characters(self, text: str) -> None:
        self._text.append(text)

    def _comment(self, text: str) -> None:
        self._check()
        self.add(None, as_wire(text))

    def _instruction(self, target: str, data: str) -> None:
        self._check()
        self.add(None, as_wire(f"<?{target} {data}"))

    def _doctype(self, name: str, system: str | None, public: str | None, has_subset: Any) -> None:
        if system is not None and not (system.startswith(_KNOWN_DTDS) and public and not has_subset):
            kind = "PUBLIC" if public else "SYSTEM"
            self.add(None, as_wire(f'<!DOCTYPE {name} {kind} "{public or ""}" "{system}">'))

    def _entity(self, *_declaration: Any) -> None:
        raise _Forbidden
