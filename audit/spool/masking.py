"""Mask secrets (``***``) in request targets, headers and host names. Pure; linear time.

A secret is recognized by its name, also in JSON (``secret_names``), by its format (``secret_tokens``: our own tokens,
tokens of well-known services, JSON Web Tokens) or by its position (``user:password@``), as sent and percent-decoded up
to three times. Ambiguous text is masked: a false positive can be looked up in the site's own log, a false negative
leaks a password.
"""

from codecs import escape_decode
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from urllib.parse import unquote_plus, unquote_to_bytes

from audit.spool.secret_names import is_secret_name
from audit.spool.secret_tokens import MAX_PLACES, SHORTEST_OF_VENDORS, may_have_own_token, may_have_token, tokens

MASK = "***"
_DECODING_ROUNDS = 3
_BEFORE_ARGUMENTS = str.maketrans("?;#", "&&&")
_BETWEEN_NAMES = str.maketrans("[].:/", "     ")
MAX_PARTS = 32
"""Maximum number of arguments or path segments that are masked one by one, in a text that is not plain."""
_MAX_PIECES = 24  # of an argument: parts between ``;``, names
_LONGEST_NAME = 200
_SHORT_NAME = 32
_LONG = SHORTEST_OF_VENDORS
_LONG_TEXT = 256
_MAX_MALFORMED = 64
_UNREADABLE = "password=x"
"""Stands for a text that is too malformed to decode, so that the text is masked."""
_KEPT, _MAX_CACHED_LENGTH = 2048, 256
_harmless: set[str] = set()
"""Cache of paths and user agents without secrets, because most of them repeat."""
_QUOTES = str.maketrans("'<>=", '""""')


def masked_query(query: str) -> str:
    """Mask secret arguments of a query string, by name or value."""
    if "%" in query or "@" in query or ";" in query or '"' in query or may_have_own_token(query):
        return _masked_parts(query, "&", _masked_argument)
    if "=" not in query and len(query) < _LONG:
        return query
    return "&".join([_masked_by_name(part) for part in query.split("&")])


def masked_path(path: str) -> str:
    """Mask path segments with a secret or a secret parameter (``;jsessionid=x``)."""
    if path in _harmless or (";" not in path and "=" not in path and not _may_have_secret(path)):
        return path
    return _masked_parts(path, "/", _masked_segment)


def _masked_parts(text: str, separator: str, masked: Callable[[str], str]) -> str:
    """Mask each part of a text, and everything after ``MAX_PARTS`` parts as a whole, to bound the time."""
    parts = text.split(separator, MAX_PARTS)
    rest = [MASK] if len(parts) > MAX_PARTS else []
    return separator.join([*map(masked, parts[:MAX_PARTS]), *rest])


def masked_text(text: str) -> str:
    """Mask secrets in free text, such as a user agent."""
    if text in _harmless or ("=" not in text and not _may_have_secret(text)):
        return text
    masked = _mask_spans(_user_infos, _mask_spans(tokens, text))
    # A secret that is only visible after decoding has no position in the text.
    return MASK if _is_secret(masked, is_masked=True) else masked


def masked_value(name: str, value: str) -> str:
    """Mask a value entirely if its name is secret, else mask it as ``masked_text()`` does.

    Names are also split at ``-`` and ``_``: ``x-auth-token``, ``__Host-session``.
    """
    plain = _decoded(name)
    is_secret = _is_secret_name(plain) or _is_secret_name(plain.replace("-", ".").replace("_", "."))
    return MASK if is_secret else masked_text(value)


def has_secret_field(text: str) -> bool:
    """Return whether a text has a secret field name in quotes or angle brackets (JSON, multipart forms, XML)."""
    parts = [part.strip() for part in text.translate(_QUOTES).split('"') if len(part) <= _LONGEST_NAME]
    return any(_is_secret_name(_decoded(part)) for part in parts if " " not in part)


def are_plain(path: str, user_agent: str) -> bool:
    """Return True only if neither text has anything to mask; checks both at once."""
    text = f"{path}\n{user_agent}"
    return not (";" in path or "=" in text or "%" in text or "@" in text or '"' in text or may_have_token(text))


def masked_host(host: str) -> str:
    """Mask the labels of a host name that are our own tokens."""
    return _mask_spans(tokens, host) if "gw" in host else host


def _may_have_secret(text: str) -> bool:
    """Return False if a text without ``=`` has no secret: a quick check for the hot path."""
    if "%" in text or "@" in text or '"' in text or may_have_token(text):
        return True
    if len(text) <= _MAX_CACHED_LENGTH:
        if len(_harmless) >= _KEPT:
            _harmless.clear()
        _harmless.add(text)
    return False


def _masked_argument(argument: str) -> str:
    """Mask the value of an argument if it is a secret. Some servers also separate arguments by ``;``."""
    if argument.count(";") > _MAX_PIECES:
        return MASK
    start = 0
    for part in argument.split(";"):
        name, equals, value = part.partition("=")
        if equals and value and _is_secret_argument(name):
            before = argument[: start + len(name)]
            return f"{MASK if _is_secret(before) else before}={MASK}"  # a secret may contain ;
        start += len(part) + 1
    name, equals, value = argument.partition("=")
    if not equals:
        return MASK if _is_secret(name) else argument
    return f"{MASK if _is_secret(name) else name}={MASK if _is_secret(value) else value}"


def _masked_by_name(argument: str) -> str:
    """Mask an argument by its name, if its value has no secret format."""
    name, _, value = argument.partition("=")
    if value and (_is_secret_argument(name) or (("=" in value or len(value) >= _LONG) and _is_secret(value))):
        return f"{MASK if len(name) >= _LONG and _is_secret(name) else name}={MASK}"
    return MASK if len(name) >= _LONG and _is_secret(name) else argument


def _masked_segment(segment: str) -> str:
    plain, semicolon, parameters = segment.partition(";")
    if semicolon and _has_secret_name(_decoded(parameters)):
        return f"{MASK if _is_secret(plain) else plain};{MASK}"
    return MASK if _is_secret(segment) else segment


def _is_secret(text: str, *, is_masked: bool = False) -> bool:
    """Return whether a text contains a secret by format, position, URL argument or JSON field.

    ``is_masked``: secrets that are visible without decoding are already masked.
    """
    plain = _decoded(text)
    if (not is_masked and _shows_secret(text)) or (plain != text and _shows_secret(plain)):
        return True
    return _has_secret_name(plain) or ('"' in plain and _has_secret_json_field(plain))


def _shows_secret(text: str) -> bool:
    return ("@" in text and _has(_user_infos, text)) or (may_have_token(text) and _has(tokens, text))


def _has_secret_name(plain: str) -> bool:
    """Return whether an argument in the text or URL has a secret name."""
    if "=" not in plain:
        return False
    if plain.count("=") > _MAX_PIECES:
        return True  # too many to inspect
    for argument in plain.translate(_BEFORE_ARGUMENTS).split("&"):
        name, equals, _ = argument.lstrip("=").partition("=")
        if equals and 0 < len(name) <= _LONGEST_NAME and _is_secret_name(name):
            return True
    return False


def _has_secret_json_field(plain: str) -> bool:
    """Return whether a JSON field in the text has a secret name."""
    if plain.count('"') > 2 * _MAX_PIECES:
        return True  # too many to inspect
    for name, after in pairwise(plain.split('"')):
        if 0 < len(name) <= _LONGEST_NAME and after.lstrip().startswith(":") and _is_secret_name(name):
            return True
    return False


def _is_secret_name(plain: str) -> bool:
    if is_secret_name(plain):
        return True
    parts = plain.translate(_BETWEEN_NAMES).split()
    return parts != [plain] and any(map(is_secret_name, parts))


def _is_secret_argument(name: str) -> bool:
    return _is_secret_short_name(name) if len(name) <= _SHORT_NAME else _is_secret_name(_decoded(name))


@lru_cache(1024)  # a site has few distinct arguments
def _is_secret_short_name(name: str) -> bool:
    return _is_secret_name(_decoded(name))


def _decoded(text: str) -> str:
    if len(text) >= _LONG_TEXT and (text.isascii() or _is_latin1(text)):
        return _long_decoded(text)
    for _ in range(_DECODING_ROUNDS):
        if "%" not in text and "+" not in text:
            break
        plain = unquote_plus(text)
        if plain == text:
            break
        text = plain
    return text


def _is_latin1(text: str) -> bool:
    """Return whether every character stands for one byte (Latin-1)."""
    return max(text) <= "\xff"


def _long_decoded(text: str) -> str:
    """Decode as ``_decoded()`` does, but in C; text with many escapes, some of them malformed, counts as a secret."""
    data = text.encode("latin-1")
    for _ in range(_DECODING_ROUNDS):
        if b"%" not in data and b"+" not in data:
            break
        data = data.replace(b"+", b" ")
        try:
            plain = escape_decode(data.replace(b"\\", b"\\\\").replace(b"%", b"\\x"))[0]
        except ValueError:
            if data.count(b"%") > _MAX_MALFORMED:
                return _UNREADABLE
            plain = unquote_to_bytes(data)
        if plain == data:
            break
        data = plain
    return data.decode("utf-8", "replace")


Spans = Callable[[str], Iterator[tuple[int, int]]]
"""Yields the start and end of each secret of one format, from left to right."""


def _has(spans: Spans, text: str) -> bool:
    return next(spans(text), None) is not None


def _mask_spans(spans: Spans, text: str) -> str:
    parts, done = [], 0
    for start, end in spans(text):
        parts += [text[done:start], MASK]
        done = end
    return "".join([*parts, text[done:]])


def _user_infos(text: str) -> Iterator[tuple[int, int]]:
    """Yield each ``user:password`` before an ``@``, from the start of its word; after many ``@``, all that follows."""
    begin = 0
    for number, part in enumerate(text.split("@", MAX_PLACES + 1)[:-1]):
        at = begin + len(part)
        word = at if part[-1:].isspace() else at - len((part.rsplit(None, 1) or [""])[-1])
        word = max(word, *[text.rfind(each, begin, at) + 1 for each in "/?#&"])
        if number >= MAX_PLACES:
            yield word, len(text)
        elif 0 <= text.find(":", word, at) < at - 1:
            yield word, at
        begin = at + 1
