"""Write JSON-compatible values as YAML in one fixed layout. No I/O.

The layout is part of the format (equal values give equal bytes in every release), so no YAML library writes it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_PLAIN = re.compile(r"[A-Za-z/*][A-Za-z0-9_./*@-]*( [A-Za-z0-9_./*@-]+)*|[0-9][0-9a-f.:]*(/[0-9]+)", re.ASCII)
"""Texts that need no quotes: words, names, paths, and networks with a prefix."""
_STARTS_LIKE_ALIAS = re.compile(r"\*")
"""A text that starts like an alias needs quotes."""
_UNREADABLE = re.compile("[\\x7f-\\x9f\\u2028\\u2029\\ufeff\\ufffe\\uffff]")
"""Characters that JSON texts may have, and that YAML readers refuse or treat as the end of a line."""
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""Words that some version of YAML reads as another type, in any letter case."""


_INVISIBLE = re.compile(
    "[\\x00-\\x1f\\x7f-\\xa0\\xad\\u061c\\u1680\\u180e\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3000"
    "\\ud800-\\uf8ff\\ufeff\\ufff0-\\uffff\\U000e0000-\\U0010ffff]"
)
"""Characters that are written as escapes: controls, blanks, direction marks, and private use.

Not ``str.isprintable``: its result depends on the version of Unicode in Python.
"""


def json_of(values: Mapping[str, Any]) -> str:
    """Return the JSON of a mapping on one line, only with characters that YAML readers also accept."""
    return _UNREADABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(values, ensure_ascii=False))


def yaml_of(values: Mapping[str, Any]) -> str:
    """Return the YAML of a mapping, in block style; lists of plain values are in flow style."""
    return "".join(f"{line}\n" for line in _mapping(values, ""))


def _mapping(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{_text(key)}:"
            yield from _mapping(value, indent + "  ")
        elif _is_block(value):
            yield f"{indent}{_text(key)}:"
            for item in value:
                first, *others = _mapping(item, "")
                yield f"{indent}- {first}"
                yield from (f"{indent}  {line}" for line in others)
        else:
            yield f"{indent}{_text(key)}: {_flow(value)}"


def _is_block(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) and item for item in value)


def _flow(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_text(key)}: {_flow(each)}' for key, each in value.items())}}}"
    return json.dumps(value)


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and not _STARTS_LIKE_ALIAS.match(text) and text.lower() not in _WORDS:
        return text
    if "\\" in text and not _INVISIBLE.search(text):  # a pattern: easier to read without doubled backslashes
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\' or character in "\n\t\r":
        return json.dumps(character)[1:-1]
    if not _INVISIBLE.match(character):
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"
