"""Attacks crossed with encodings and places: ``python -m tests.corpora.mixed FOLDER`` for ``gatewall waf rates``.

The payloads are in payloads.py; nothing in here knows what the rules find. The same seed gives the same requests.
"""

import argparse
import base64
import gzip
import html
import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from tests.corpora.payloads import AGENTS, PAYLOADS

SEED = 20240301
BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"
_SPACED = {"sqli", "xss"}
_NAMED = {"sqli", "xss", "windows", "php"}  # texts that are read ignoring case


def _url(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def _special(text: str) -> str:
    return quote(text, safe="")


def _in_cases(text: str) -> str:
    return "".join(each.upper() if number % 2 else each.lower() for number, each in enumerate(text))


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _overlong(text: str) -> str:
    return text.replace(".", "%c0%ae").replace("/", "%c0%af")


def _nul_in_tags(text: str) -> str:
    return re.sub(r"<([a-z])", "<%00\\1", text)


ENCODERS: dict[str, tuple[Callable[[str], str], set[str] | None]] = {
    "plain": (lambda text: text, None),
    "url": (_url, None),
    "url of what is special": (_special, None),
    "url twice": (lambda text: _url(_url(text)), None),
    "%u": (lambda text: "".join(f"%u{ord(each):04x}" for each in text), None),
    "entities": (lambda text: "".join(f"&#{ord(each)};" for each in text), None),
    "entities in hex": (lambda text: "".join(f"&#x{ord(each):x};" for each in text), None),
    "entities by name": (html.escape, None),
    "unicode escapes": (lambda text: "".join(f"\\u{ord(each):04x}" for each in text), None),
    "hex escapes": (lambda text: "".join(f"\\x{ord(each):02x}" for each in text), None),
    "base64": (_base64, None),
    "base64 without padding": (lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="), None),
    "mixed case": (_in_cases, _NAMED),
    "comments": (lambda text: text.replace(" ", "/**/"), {"sqli"}),
    "versioned comments": (lambda text: re.sub(r"\b(union|select|and|or)\b", r"/*!50000\1*/", text), {"sqli"}),
    "tabs": (lambda text: text.replace(" ", "%09"), {*_SPACED, "unix", "windows"}),
    "line feeds": (lambda text: text.replace(" ", "%0a"), _SPACED),
    "vertical tabs": (lambda text: text.replace(" ", "%0b"), {"sqli"}),
    "overlong": (_overlong, {"lfi"}),
    "backslashes": (lambda text: text.replace("/", "\\"), {"lfi"}),
    "NUL at the end": (lambda text: text + "%00.jpg", {"lfi"}),
    "NUL in tags": (_nul_in_tags, {"xss"}),
}
"""Name, what it does, and the classes of attack that survive it; None is all of them."""


def _in_uri(text: str) -> str:
    """Return the text as a client sends it: characters not allowed in a URI are encoded, the encoder's are kept."""
    return quote(text, safe="%/:;,()!*'@$?=~-._").replace("?", "%3F").replace("=", "%3D")


def _named(field: str, text: str) -> dict[str, Any]:
    text = unquote(text, "latin-1") if "\r" not in text and "\n" not in text else _in_uri(text)
    return {"headers": {field: text.encode().decode("latin-1") if not text.isascii() else text}}


PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "argument": lambda text: {"uri": f"/search?q={_in_uri(text)}&lang=en"},
    "argument behind others": lambda text: {
        "uri": "/list?" + "&".join(f"f{number}=v{number}" for number in range(20)) + f"&id={_in_uri(text)}"
    },
    "argument's name": lambda text: {"uri": f"/search?{_in_uri(text)}=1"},
    "path": lambda text: {"uri": f"/shop/{_in_uri(text)}"},
    "middle of the path": lambda text: {"uri": f"/shop/{_in_uri(text)}/view.html"},
    "JSON in an argument": lambda text: {"uri": f"/api?filter={quote(json.dumps({'a': [{'b': text}]}))}"},
    "cookie": lambda text: {"headers": {"Cookie": f"sid=7f3a9c2e41d8; prefs={quote(text, safe='%/:()<>!*@$?=~-._')}"}},
    "referer": lambda text: {"headers": {"Referer": f"https://x.test/a?u={_in_uri(text)}"}},
    "user agent": lambda text: _named("User-Agent", text),
    "other header": lambda text: _named("X-Api-Version", text),
}


def _table() -> Iterator[tuple[str, int, str, str]]:
    """Give the class and number of each payload with each encoder and place that it has."""
    for kind, payloads in PAYLOADS.items():
        for number in range(len(payloads)):
            for encoder, (_, kinds) in ENCODERS.items():
                if kinds is None or kind in kinds:
                    for place in PLACES:
                        yield kind, number, encoder, place
    for number in range(len(AGENTS)):
        yield "scanner", number, "plain", "user agent"


def _request(kind: str, number: int, encoder: str, place: str) -> dict[str, Any]:
    name = f"{kind}-{number}/{encoder}/{place}"
    if kind == "scanner":
        return _item(name, kind, {"headers": {"User-Agent": AGENTS[number]}})
    payload = PAYLOADS[kind][number]
    if kind in {"crlf", "mail", "python"}:
        payload = unquote(payload).replace("\\n", "\n")
    return _item(name, kind, PLACES[place](ENCODERS[encoder][0](payload)))


def _item(name: str, kind: str, parts: dict[str, Any]) -> dict[str, Any]:
    place = name.rpartition("/")[2]
    return {
        "id": f"mixed-{name}",
        "source": "own/mixed",
        "label": "attack",
        "category": kind,
        "visible": "header" if "headers" in parts else "uri",
        "method": "GET",
        "uri": parts.get("uri", "/"),
        "headers": {"Host": "office.example", "User-Agent": BROWSER, **parts.get("headers", {})},
        "body": None,
        "meta": {"place": place},
    }


def sample(count: int) -> list[dict[str, Any]]:
    """Return so many of the requests as lines of ``gatewall waf rates``, always the same ones."""
    return [_request(*each) for each in random.Random(SEED).sample(list(_table()), count)]  # noqa: S311 - no secret


def main() -> int:
    """Write the requests as mixed.jsonl.gz."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpora.mixed", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=12_000)
    wanted = parser.parse_args()
    with gzip.open(wanted.folder / "mixed.jsonl.gz", "wt", encoding="ascii") as file:
        file.writelines(json.dumps(each) + "\n" for each in sample(wanted.count))
    return 0


if __name__ == "__main__":
    sys.exit(main())
