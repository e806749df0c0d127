"""Parts of a multipart body, by RFC 7578 and as lenient sites read them. Bounded, no I/O."""

from base64 import b64decode
from binascii import Error
from quopri import decodestring

from gatewall.engine.waf.body import charsets, content_type
from gatewall.engine.waf.body.content_type import HeaderValue
from gatewall.engine.waf.body.texts import BODY_MARK, FORM_MARK, BodyText, field, readable
from gatewall.engine.waf.exclusions import Part, PartName
from gatewall.engine.waf.rules import BodyRegion

MAX_PARTS = 20
"""Further parts form one value."""
MAX_UNUSUAL = 8
"""Parts whose heads are not as browsers write them; further ones form one value each, without a name."""
_MAX_HEAD = 2_048
_MAX_LINES = 16  # of the head of a part
_FIELD = "Content-Disposition: form-data; name="
_MARK = BodyText(None, BODY_MARK)


def read(text: str, media_type: HeaderValue) -> list[BodyText]:
    """Return the fields, the headers of parts that are unusual, and the files; raw text where parsers may differ."""
    boundary = media_type.parameters.get("boundary", "")
    delimiter = "--" + boundary
    if not boundary or media_type.is_ambiguous or delimiter not in text:
        return raw(text)
    first, *parts = ("\n" + text).split("\n" + delimiter, MAX_PARTS + 1)
    found = raw(first[1:]) if first.strip() else []
    is_more = len(parts) > MAX_PARTS
    if is_more:
        found += raw_text(parts.pop())
    is_odd, is_closed, unusual = False, False, 0
    for part in parts:
        rest_of_line, _, content = part.partition("\n")
        if rest_of_line[:2] == "--":
            is_closed = True
            found += raw(part[2:]) if part[2:].strip() else []
        else:
            is_odd = is_odd or delimiter in part or bool(rest_of_line.strip())
            usual = _usual_part(content)
            unusual += usual is None
            found += usual or (_part(content) if unusual <= MAX_UNUSUAL else raw_text(content))
    if not (is_closed or ((is_odd or is_more) and delimiter + "--" in text)):
        found.append(_MARK)
    return found + raw(text) if is_odd else found  # parsers differ in where such a part ends


def raw(text: str) -> list[BodyText]:
    """Return text that could not be parsed, and the mark for it."""
    return [BodyText(None, readable(text)), _MARK]


def raw_text(text: str) -> list[BodyText]:
    """Return text that exceeds the bounds, and the mark for it."""
    return [BodyText(None, readable(text), BodyRegion.TEXT), _MARK]


def _usual_part(part: str) -> list[BodyText] | None:
    """Return the texts of a part whose head is as browsers write it, or None: ``_part`` takes five times as long."""
    head, _, content = part.partition("\r\n\r\n")
    line, _, media_type = head.partition("\r\n")
    pieces = line.split('"')
    is_file = len(pieces) == 5 and pieces[2] == "; filename=" and bool(pieces[3])
    if (
        pieces[0] != _FIELD
        or pieces[-1]
        or not (is_file or len(pieces) == 3)
        or "\\" in head
        or line.splitlines() != [line]
    ):
        return None
    if (media_type and not _is_plain_type(media_type)) or len(head) > _MAX_HEAD or "-disposition" in line.lower()[9:]:
        return None
    name = (Part.MULTIPART_FIELD, pieces[1])
    found = [_content(name, content.removesuffix("\r"), is_file=is_file)]
    is_usual = not is_file and pieces[1].replace("-", "_").isidentifier()
    return found if is_usual else [BodyText(name, _plain(line)), *found]


def _is_plain_type(line: str) -> bool:
    return line.startswith("Content-Type: ") and not line[14:].translate(_IN_MEDIA_TYPES)


def _part(part: str) -> list[BodyText]:
    head, content = _head_and_content(part)
    lines = head.splitlines()
    if len(head) > _MAX_HEAD or len(lines) > _MAX_LINES:
        return raw(part)
    headers = _headers(head)
    disposition = content_type.parse(headers.get("content-disposition", ""))
    parameters = disposition.parameters
    name = _name(head, disposition)
    found = [BodyText(name, _plain(line)) for line in lines if not _is_usual(line)]
    is_file = not disposition.is_ambiguous and bool({"filename", "filename*"} & parameters.keys())
    if is_file and not _is_surely_file(head, parameters):
        is_file = False
        found.append(_MARK)
    if disposition.is_ambiguous:
        found.append(_MARK)
    coding = headers.get("content-transfer-encoding", "").strip().lower()
    if coding in {"base64", "quoted-printable"}:
        found += [_content(name, _transfer_decoded(content, coding), is_file=is_file), _MARK]
    elif "charset" in headers.get("content-type", "").lower():
        charset = content_type.parse(headers["content-type"]).parameters.get("charset", "")
        if (decoded := charsets.decoded(content, charset)) is None:
            found.append(_MARK)
        elif decoded.text != content:
            found.append(_content(name, decoded.text, is_file=is_file))
            if not decoded.is_whole:
                found.append(BodyText(None, FORM_MARK))
    return [*found, _content(name, content, is_file=is_file)]


def _is_surely_file(head: str, parameters: dict[str, str]) -> bool:
    """True if all sites read a file: some do not if its name is empty or only encoded, or if there are two heads."""
    lower = head.lower()
    is_named_once = lower.count("content-disposition") == 1 and "filename=" in lower and "='" not in head
    return is_named_once and bool(parameters.get("filename"))


def _name(head: str, disposition: HeaderValue) -> PartName | None:
    """Return the name of a field, for exclusions only if all sites read the same one."""
    name = disposition.parameters.get("name")
    if name is None:
        return None
    is_sure = not disposition.is_ambiguous and "name*" not in disposition.parameters and "\\" not in head
    is_sure = is_sure and head.lower().count("content-disposition") == 1
    return Part.MULTIPART_FIELD if is_sure else None, name


def _content(name: PartName | None, content: str, *, is_file: bool) -> BodyText:
    if is_file:
        return BodyText(name, readable(content), BodyRegion.FILE)
    return field(name, content)


def _head_and_content(text: str) -> tuple[str, str]:
    """Split at the first empty line; CRLF or LF."""
    if text[:2] == "\r\n" or text[:1] == "\n":
        return "", text.partition("\n")[2].removesuffix("\r")
    ends = [(at, len(end)) for end in ("\r\n\r\n", "\n\n") if (at := text.find(end, 0, _MAX_HEAD + 4)) >= 0]
    if not ends:
        return text, ""
    at, length = min(ends)
    return text[:at], text[at + length :].removesuffix("\r")


def _headers(head: str) -> dict[str, str]:
    """Return the first header of each name, folded lines joined."""
    unfolded = head.replace("\r\n", "\n").replace("\n ", " ").replace("\n\t", " ")
    found: dict[str, str] = {}
    for line in unfolded.split("\n"):
        name, _, value = line.partition(":")
        found.setdefault(name.strip().lower(), value.strip())
    return found


def _plain(line: str) -> str:
    """Return a header line without the quotes around its parameters, which break out of no context."""
    pieces = line.split('"')
    is_plain = len(pieces) == 5 and pieces[2] == "; filename=" and not pieces[4] and "\\" not in line
    return "".join(pieces) if is_plain and pieces[0].lower() == _FIELD.lower() else line


def _is_usual(line: str) -> bool:
    """True for the header lines of a field without a file name, and of media types."""
    name, _, value = line.partition(":")
    match name.lower():
        case "content-disposition":
            return value.replace(" form-data; name=", "").replace('"', "").replace("-", "_").isidentifier()
        case "content-type":
            return not value.translate(_IN_MEDIA_TYPES).strip()
    return not line


_IN_MEDIA_TYPES = dict.fromkeys([*range(ord("a"), ord("z") + 1), *range(ord("0"), ord("9") + 1), *b"/.-+"])


def _transfer_decoded(content: str, coding: str) -> str:
    data = content.encode("latin-1")
    if coding == "quoted-printable":
        return decodestring(data).decode("latin-1")
    try:
        return b64decode(data).decode("latin-1")
    except Error:
        return content
