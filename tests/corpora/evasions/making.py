"""How the forms of the table are made: a payload becomes a media type, a body, and perhaps a content coding."""

import json
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote_plus

FORM, JSON, PARTS = "application/x-www-form-urlencoded", "application/json", "multipart/form-data; boundary=b"


class Made(NamedTuple):
    """A body as it is sent."""

    kind: str
    body: bytes
    coding: str = ""


Make = Callable[[str], Made]
Encode = Callable[[str], str]


def all_encoded(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def form(template: str, kind: str = FORM, encode: Encode = quote_plus) -> Make:
    return lambda payload: Made(kind, template.replace("{}", encode(payload)).encode("latin-1"))


def parts(
    head: str = 'Content-Disposition: form-data; name="a"', kind: str = PARTS, end: str = "\r\n", tail: str = "--",
    before: str = "", behind: str = "", encode: Encode = str,
) -> Make:  # fmt: skip
    """Return how to make a body of one part; lines end in ``\\n`` in the texts given."""

    def make(payload: str) -> Made:
        lines = f"{before}--b\n{head}\n\n{encode(payload)}\n--b{tail}\n{behind}".replace("\n", end)
        return Made(kind, lines.encode("latin-1"))

    return make


def json_text(template: str, kind: str = JSON, code: str = "utf-8", encode: Encode = json.dumps) -> Make:
    return lambda payload: Made(kind, template.replace("{}", encode(payload)).encode(code))


def escaped(text: str) -> str:
    return '"' + "".join(f"\\u{ord(each):04x}" for each in text) + '"'
