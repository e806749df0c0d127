"""Read a request body by its type: form, multipart, JSON, XML, text or file. Bounded, no I/O."""

from gatewall.engine.waf.body import charsets, content_type, json_reader, multipart, xml_reader
from gatewall.engine.waf.body.content_type import HeaderValue
from gatewall.engine.waf.body.texts import BODY_MARK, FORM_MARK, BodyText, field, is_binary, readable
from gatewall.engine.waf.exclusions import Part
from gatewall.engine.waf.percent import decoded_once
from gatewall.engine.waf.rules import BodyRegion

FORM = "application/x-www-form-urlencoded"
_MARK = BodyText(None, BODY_MARK)
_FORM_MARK = BodyText(None, FORM_MARK)
_JSON_STARTS = ("{", "[")
_STORED = (
    "text/", "image/", "audio/", "video/", "font/", "model/", "application/octet-stream", "application/javascript",
    "application/pdf", "application/zip", "application/gzip", "application/x-", "application/vnd.", "application/grpc",
)  # fmt: skip
"""Media types of files; text of another type is a value, as is ``text/plain``."""
_OBJECTS = ("\xac\xed\x00\x05", "\x00\x01\x00\x00\x00\xff\xff\xff\xff", *(f"\x80{chr(each)}" for each in range(2, 6)))
"""First bytes of serialized objects of Java, .NET and Python."""
_HEAD = 256
_MAX_TYPES = content_type.MAX_READ
_MAX_OF_TYPE = 10_240  # characters of a body with several types that are read by each type
_MAX_RECODED = 8_192
_XML_ENTITIES = ("amp;", "lt;", "gt;", "quot;", "apos;")
_BOM = "\xef\xbb\xbf"


def _is_one_argument(text: str) -> bool:
    """True for a form of one argument: XML entities do not begin further arguments."""
    return "%" not in text and all(part.startswith(_XML_ENTITIES) for part in text.split("&")[1:])


class Body:
    """A request body as one or more readings: texts, and forms whose arguments the caller splits."""

    def __init__(self, data: bytes, header: str, method: str, *, is_whole: bool, is_cut: bool = False) -> None:
        """``header`` is the Content-Type; ``is_cut`` if the body is longer than ``data``, within a form's bounds."""
        self._text = data.decode("latin-1")
        self._types = content_type.media_types(header)
        self._is_file = method == "PUT"
        self._is_whole = is_whole and not is_cut
        self.texts: list[BodyText] = []
        self.forms: list[str] = []
        self._charsets: set[str] = set()
        kinds = {each.value: each for each in self._types}
        self._is_one_type = len(kinds) == 1
        if len(kinds) > 1:
            self._text, everything = self._text[:_MAX_OF_TYPE], self._text
        for media_type in [*kinds.values()][: _MAX_TYPES if len(kinds) <= _MAX_TYPES else 1] or (HeaderValue("", {}),):
            self._read(media_type)
        if len(kinds) > 1:
            self.texts += (multipart.raw if len(kinds) <= _MAX_TYPES else multipart.raw_text)(everything)
        elif len(self._types) > 1:  # the same type with other parameters
            self.texts += multipart.raw(self._text)
        self.is_limited = _MARK in self.texts
        """True if there are more values than are read one by one, or they cannot be separated."""
        if not self._is_whole:
            self.texts.append(BodyText(None, FORM_MARK if self.forms and not is_whole else BODY_MARK))

    def _read(self, media_type: HeaderValue) -> None:
        text, kind = self._text, media_type.value
        charset = media_type.parameters.get("charset", "")
        if charset and charset not in self._charsets:
            begin = text[:_MAX_RECODED]
            decoded = charsets.decoded(begin, charset)
            if decoded is None or (decoded.text != begin and not _is_xml(kind)):
                self._charsets.add(charset)
                self._other_charset(charset, decoded)
        if kind.startswith(FORM):  # PHP ignores everything after a blank
            self._form(text)
        elif kind.startswith("multipart/"):
            self.texts += multipart.read(text, media_type)
        elif _is_xml(kind) or xml_reader.is_wide(text) or (kind not in _FILES and xml_reader.looks_like_xml(text)):
            self._xml(text, kind)
        elif not self._json(text, kind):
            if kind in _FILES and not self._is_file:
                self._data(text)
            self._other(text, kind)

    def _data(self, text: str) -> None:
        """Read JSON or XML that was sent as a page, script or image, because a site may ignore the media type."""
        if text[:64].removeprefix(_BOM).lstrip().startswith(_JSON_STARTS):
            self.texts += json_reader.read(text) or ()
        elif xml_reader.looks_like_xml(text):
            self.texts += xml_reader.read(text, is_declared=False) or ()

    def _other_charset(self, charset: str, as_sent: charsets.Decoded | None) -> None:
        """Add the body decoded from its charset, before and after percent-decoding; mark invalid text uninspected."""
        begin = self._text[:_MAX_RECODED].encode("latin-1")
        raw = decoded_once(begin.replace(b"+", b" "))
        others = [] if raw == begin else [charsets.decoded(raw.decode("latin-1"), charset)]
        for each in (as_sent, *others):
            if each is not None:
                self.texts.append(BodyText(None, each.text))
                if not each.is_whole:
                    self.texts.append(_FORM_MARK)
        self.texts.append(_MARK)

    def _form(self, text: str) -> None:
        if text[:1] in _JSON_STARTS and (found := json_reader.read(text)) is not None:
            self.texts += found  # as from curl without a media type
            if "&" not in text and "%" not in text:
                return
        found = xml_reader.read(text, is_declared=False) if text[:1] == "<" and _is_one_argument(text) else None
        if found is not None:  # as from WebDAV clients that use curl or requests
            self.texts += found
            return
        self.forms.append(text)

    def _json(self, text: str, kind: str) -> bool:
        """Read JSON; False if the text is not JSON."""
        begin = text[:64].removeprefix(_BOM).lstrip()
        if "\x00" in text[:4]:
            text = _wide_decoded(text)
            begin = text[:64].lstrip()
        elif text.startswith(_BOM):
            text = text[3:]
        is_declared = "json" in kind
        if not (is_declared or begin.startswith(_JSON_STARTS)) or kind in _FILES:
            return False
        part = Part.JSON_PATH if is_declared and self._is_one_type else None
        found = json_reader.read(text, part)
        if found is None and self._is_whole and "\n" in text:
            found = json_reader.read_lines(text, part)
        if found is None:
            start = "".join(begin.split())[:2] if is_declared else begin[:2]
            if start not in {'{"', '["', "[{", "[["} and (not is_declared or is_binary(text)):
                return False
            found = json_reader.read_loosely(text)
            if not is_declared and self._is_whole:
                found = [*found, field(None, readable(text)), _MARK]
        self.texts += found
        return True

    def _xml(self, text: str, kind: str) -> None:
        is_declared = _is_xml(kind)
        is_only_xml = is_declared and self._is_one_type
        found = xml_reader.read(text, is_whole=self._is_whole, is_declared=is_declared, is_only_xml=is_only_xml)
        if found is None:
            self._raw_xml(text, kind)
        else:
            self.texts += found

    def _raw_xml(self, text: str, kind: str) -> None:
        if xml_reader.is_wide(text):
            text = _wide_decoded(text)
        if _is_xml(kind) or "<!ENTITY" in text.upper():
            self.texts += [BodyText(None, text), _MARK]
        elif not self._json(text, kind):
            self._other(text, kind)

    def _other(self, text: str, kind: str) -> None:
        if not kind and not self._is_file and not is_binary(text):
            self.forms.append(text)  # Envoy omits the content type unless configured to send it
        elif self._is_file or is_binary(text) or (kind.startswith(_STORED) and kind != "text/plain"):
            if text.startswith(_OBJECTS):
                self.texts.append(BodyText(None, text[:_HEAD], BodyRegion.FILE))
            self.texts.append(BodyText(None, readable(text), BodyRegion.FILE))
        else:
            self.texts.append(field(None, text))


_FILES = frozenset({"text/html", "text/css", "text/javascript", "application/javascript", "image/svg+xml"})


def _is_xml(kind: str) -> bool:
    return kind in {"application/xml", "text/xml"} or (kind.endswith("+xml") and kind not in _FILES)


def _wide_decoded(text: str) -> str:
    """Decode EBCDIC, UTF-16 or UTF-32 with or without a byte order mark, as JSON and XML parsers do."""
    data = text.encode("latin-1")
    if text.startswith(xml_reader.EBCDIC):
        coding = "cp037"
    elif data[:4] in {b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff"}:
        coding = "utf-32"
    elif data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        coding = "utf-16"
    elif data[:3] == b"\x00\x00\x00":
        coding = "utf-32-be"
    elif data[1:4] == b"\x00\x00\x00":
        coding = "utf-32-le"
    else:
        coding = "utf-16-be" if data[:1] == b"\x00" else "utf-16-le"
    return charsets.decode(data, coding).encode("utf-8", "replace").decode("latin-1")
