"""Planted secrets, and searches for them: in clear, percent-encoded, in hex and base64."""

import re
from base64 import b32encode, b64encode
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from urllib.parse import quote

from django.db import connection


@cache
def spellings_of(secret: str | bytes) -> frozenset[str]:
    """Return the encodings of a secret; base64 at each of the three possible offsets."""
    raw = secret if isinstance(secret, bytes) else secret.encode()
    found = {raw.hex(), b32encode(raw).decode().rstrip("=")}
    for before in range(3):
        inside = b64encode(b"\0" * before + raw).decode()[(0, 2, 3)[before] : len(raw) * 4 // 3 - 1]
        found |= {inside, inside.replace("+", "-").replace("/", "_")}
    if isinstance(secret, str):
        every = "".join(f"%{byte:02x}" for byte in raw)
        found |= {secret, quote(secret, safe=""), quote(quote(secret, safe=""), safe=""), every, every.upper()}
        found |= {secret.replace("-", ""), secret.lower()}
    return frozenset(each for each in found if len(each) >= 8)


def found_in(text: str, secrets: dict[str, str | bytes], codes: Iterable[str] = ()) -> set[str]:
    """Return the names of secrets that the text contains in any encoding; short codes must be whole words."""
    lower = text.lower()
    there = {name for name, secret in secrets.items() if any(each in text for each in spellings_of(secret))}
    there |= {name for name, secret in secrets.items() if isinstance(secret, str) and secret.lower() in lower}
    return there | {code for code in codes if re.search(rf"(?<![0-9A-Za-z.]){code}(?![0-9A-Za-z])", text)}


def whole_database() -> str:
    """Return every column of every row of every table as text."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - the database names them
            found += [f"{table} {row!r}" for row in cursor.fetchall()]
    return "\n".join(found)


def whole_folder(folder: Path) -> str:
    """Return every file name and every byte of a folder as text."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return "\n".join(f"{path.name} {path.read_bytes().decode('latin-1')}" for path in files)
