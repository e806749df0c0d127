"""Texts of a body: their names, and which of them are prose, source code or files. No I/O."""

import string
from collections import Counter
from typing import NamedTuple

from gatewall.engine.waf.decoding import unprintable_in
from gatewall.engine.waf.exclusions import PartName
from gatewall.engine.waf.rules import BodyRegion, Region, Target

UNINSPECTED = "\x01uninspected "
"""Prefix of the value that names a part that could not be inspected."""
BODY_MARK = UNINSPECTED + "body"
"""Marks that a body was read in another way, or only in part; a weak sign."""
FORM_MARK = UNINSPECTED + "form"
"""Marks that arguments in a body were not inspected."""
SEVERAL_LINES = 3
"""Minimum number of line breaks in a text; an attacked field has fewer."""
_LONG = 80
LONG = 60
"""Minimum length of a field's value that may be prose."""
_LOOKED_AT = 512
_JUDGED = 20_480
"""Characters at the beginning of a long text that decide its region; the rest is TEXT in any case."""
_WORDS = 10
_SHARE_OF_WORDS = 0.75
_PUNCTUATION = b".,;:!?()[]\"'`*_-"
_IN_WORDS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'-" + bytes(range(0x80, 0x100))
_SHAPES = bytes.maketrans(
    bytes(set(_IN_WORDS) - set(_PUNCTUATION)) + bytes(set(_PUNCTUATION) - set(_IN_WORDS)),
    b"a" * len(set(_IN_WORDS) - set(_PUNCTUATION)) + b"." * len(set(_PUNCTUATION) - set(_IN_WORDS)),
)
"""Letters and punctuation as one character each, so that words of the same length are counted together."""
_MANY_CONTROLS = 4  # different ones, as in packed data
_PACKED = 256
"""Shorter texts are not inspected as packed bytes."""
_KINDS_OF_CONTROLS = 8
_BYTES_A_CONTROL = 25  # packed bytes in UTF-8 have a control character in 13, attacked fields none
_SHORTEST_PACKED_RUN = 7
_SCRAMBLED = 512
_KINDS_OF_PUNCTUATION = 24
"""Of 32. A long text with at least this many is source code, or obfuscated by a script."""
_KINDS_WITHOUT_BLANKS = 16
_ELEMENTS = """
    a abbr b blockquote br caption center cite code col colgroup dd del details div dl dt em figcaption figure font h1
    h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q s samp small span strike strong sub summary sup table tbody td
    tfoot th thead tr tt u ul var
    """
_FORMATTING = frozenset(_ELEMENTS.split())
"""HTML elements of rich-text editors. Their event handlers, and URLs and styles with scripts, are found in TEXT too."""
_SHORTEST_RUN = 24  # shorter ones occur by chance, as in compressed files or palettes
_READABLE = bytes([9, *range(32, 127)])
_KINDS = bytes([b"\n."[each in _READABLE] for each in range(256)])
_MAX_RUNS = 256
_BETWEEN_RUNS = "\x02"  # in no pattern, and not white space
_TO_READABLE = bytes([each if each in _READABLE else ord(_BETWEEN_RUNS) for each in range(256)])
_CONTROLS = bytes([*range(9), 11, *range(14, 32), 127])
_CONTINUATIONS = bytes(range(0x80, 0xC0))
_NO_CONTROLS = bytes(set(range(0x100)) - set(_CONTROLS))
_MAX_PARAMETERS = 200
_IN_NO_PLACE = frozenset("\\'\"<>$;()`|{}")
_MAX_TAGS = 64
"""Tags that decide whether a text is only formatted; elements that run scripts are found in TEXT as well."""


class BodyText(NamedTuple):
    """A text in a body: its name (field, JSON path, XML path), and the region whose rules inspect it (latin-1).

    For a field's value (``is_field``), the region is not known yet: ``field_text`` determines it.
    """

    name: PartName | None
    text: str
    region: Region = Target.BODY
    is_field: bool = False


def as_wire(text: str) -> str:
    """Return Unicode text as latin-1 characters of its UTF-8 bytes."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")


def field(name: PartName | None, text: str) -> BodyText:
    """Return a field's value whose region is not known yet."""
    return BodyText(name, text, Target.BODY, True)


def is_long(text: str) -> bool:
    """True if determining the region of a field's value takes long."""
    return len(text) >= LONG


def field_text(name: PartName | None, text: str) -> BodyText:
    """Return a field's value with its region; of packed bytes, the readable runs."""
    if len(text) < LONG and "<" not in text and text.isprintable() and text[:8] != "function":
        return BodyText(name, text)
    unprintable = unprintable_in(text[:_JUDGED])
    if unprintable and (runs := _packed_runs(text, unprintable)) is not None:
        return BodyText(name, runs, BodyRegion.TEXT)
    return BodyText(name, text, _region_of(text[:_JUDGED], unprintable))


def rest_text(text: str, name: PartName | None = None, region: Region = BodyRegion.TEXT) -> BodyText:
    """Return a text that no parser split into values, or the surplus ones; of packed bytes, the readable runs."""
    runs = _packed_runs(text, unprintable_in(text[:_JUDGED]))
    return BodyText(name, text, region) if runs is None else BodyText(name, runs, BodyRegion.TEXT)


def _packed_runs(text: str, unprintable: bytes) -> str | None:
    """Return the readable runs of a text that is packed bytes, else None."""
    is_packed = len(text) >= _PACKED and _is_packed(text[:_JUDGED], unprintable)
    return _runs(text, _SHORTEST_PACKED_RUN) if is_packed else None


def _region_of(text: str, unprintable: bytes) -> Region:
    """Return the region of a field's value: TEXT for several lines, markup of an editor, source code, binary."""
    if len(text) >= _LONG and any(len(text.split(end, SEVERAL_LINES)) > SEVERAL_LINES for end in "\n\r" if end in text):
        return BodyRegion.TEXT
    if len(text) >= LONG and _is_prose(text):
        return BodyRegion.TEXT
    if ("<" in text and _is_formatted(text)) or _is_function(text):
        return BodyRegion.TEXT
    if len(text) >= _SCRAMBLED and _is_code_or_scrambled(text):
        return BodyRegion.TEXT
    if unprintable and (_kinds_of_controls(unprintable) >= _MANY_CONTROLS or _is_headers(text)):
        return BodyRegion.TEXT
    return Target.BODY


def _kinds_of_controls(unprintable: bytes) -> int:
    """Return how many different control characters are among the unprintable ones of a text."""
    return sum(map(unprintable.__contains__, _CONTROLS)) if unprintable.translate(None, _NO_CONTROLS) else 0


def _kinds(text: str, characters: str) -> int:
    """Return how many of the characters the text contains."""
    return sum(map(text.__contains__, characters))


def _is_prose(text: str) -> bool:
    """True if most of a text is words between blanks."""
    if len(text) > 2 * _LOOKED_AT:  # both ends stand for the whole, to bound the time
        text = text[:_LOOKED_AT] + text[-_LOOKED_AT:]
    tokens = Counter(text.encode("latin-1").translate(_SHAPES).split())
    words = sum([count for token, count in tokens.items() if _is_word(token)])
    return words >= _WORDS and words >= _SHARE_OF_WORDS * tokens.total()


def _is_word(token: bytes) -> bool:
    word = token.strip(_PUNCTUATION)
    return bool(word) and not word.translate(None, _IN_WORDS)


def _is_code_or_scrambled(text: str) -> bool:
    kinds = _kinds(text, string.punctuation)
    return kinds >= _KINDS_OF_PUNCTUATION or (kinds >= _KINDS_WITHOUT_BLANKS and " " not in text)


def _is_function(text: str) -> bool:
    """True for the source of a JavaScript function without a call, as in error reports."""
    if not text.startswith("function"):
        return False
    head, brace, _ = text[:_MAX_PARAMETERS].partition("{")
    return bool(brace) and head.rstrip()[-1:] == ")" and text.rstrip(" ;\r\n")[-1:] != ")"


def _is_packed(text: str, unprintable: bytes) -> bool:
    """True for packed or encrypted bytes: many control characters of many kinds."""
    if not unprintable or _kinds_of_controls(unprintable) < _KINDS_OF_CONTROLS:
        return False
    characters = text.encode("latin-1").translate(None, _CONTINUATIONS)  # bytes may have been encoded twice
    controls = len(characters) - len(characters.translate(None, _CONTROLS))
    return controls * _BYTES_A_CONTROL >= len(characters)


def _is_headers(text: str) -> bool:
    """True for lines of ``name: value``, as scripts report the headers of a response."""
    lines = [line for line in text.replace("\r", "\n").split("\n") if line]  # few: a text of several is TEXT already
    return len(lines) > 1 and all(line.partition(":")[0].replace("-", "").isalnum() and ":" in line for line in lines)


def _is_formatted(text: str) -> bool:
    """True if the markup in a text is only the formatting that editors write, and does not follow a quote."""
    is_like_json = text[:2] in {'{"', '["'}  # with quotes that were escaped once too often
    if is_like_json:
        text = text.replace("\\", "")
    before, *tags = text.split("<", _MAX_TAGS)
    if len(tags) > 1 and (len(tags) == _MAX_TAGS or (len(text) >= _JUDGED and ">" not in tags[-1])):
        tags.pop()  # cut, or with further ones
    if before.rstrip()[-1:] in {"'", '"', "`", ">"} and not is_like_json:
        return False
    for tag in tags:
        inside, end, _ = tag.partition(">")
        name = inside.lstrip("/").partition(" ")[0].rstrip("/").lower()
        if not end or name not in _FORMATTING or "/*" in inside or "\\" in inside:
            return False
    return True


def is_binary(text: str) -> bool:
    """True if a text (latin-1) is not UTF-8 text: it has control characters or invalid bytes."""
    data = text.encode("latin-1")
    if len(data.translate(None, _CONTROLS)) != len(data):
        return True
    try:
        data[:-3].decode()  # the end may be cut within a character
    except UnicodeDecodeError:
        return True
    return False


def readable(text: str) -> str:
    """Return a file's text (latin-1): all of it if it is UTF-8 without NULs, else its long runs of ASCII.

    Random bytes of an image or archive look like attacks; an injected attack is longer than a random match.
    """
    return _runs(text, _SHORTEST_RUN) if is_binary(text) else text


def _runs(text: str, shortest: int) -> str:
    data = text.encode("latin-1")
    kinds, run = data.translate(_KINDS), b"." * shortest
    runs: list[bytes] = []
    at = kinds.find(run)
    while at >= 0:
        if len(runs) == _MAX_RUNS:  # with short ones, which cost some Python code each
            runs.append(data[at:].translate(_TO_READABLE))
            break
        end = kinds.find(b"\n", at)
        runs.append(data[at : end if end >= 0 else len(data)])
        at = kinds.find(run, end) if end >= 0 else -1
    return _BETWEEN_RUNS.join([each.decode("ascii") for each in runs])


def are_locations(text: str) -> bool:
    """True for names and locations of schemas, also ``../a.xsd``: a path may go up one folder, not more."""
    if "../.." in text or not _IN_NO_PLACE.isdisjoint(text):
        return False
    return all(":" not in each or each.startswith(("http://", "https://", "urn:")) for each in text.split())
