"""Cleaning of recorded requests for publication: each once, without address, path or secret of the machine."""

import gzip
import hashlib
import json
import random
import re
import string
from collections.abc import Collection, Iterable
from pathlib import Path
from urllib.parse import quote

from tests.corpora.record.tap import Seen

HOST = "cloud.example"
_ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost)(?::|%3A)\d{4,5}", re.IGNORECASE)
_NAMED_ADDRESS = re.compile(r"((?:wall|office|vault|closed|shop)\.)gate\.test(?:(?::|%3A)\d{4,5})?", re.IGNORECASE)
_KERNEL = re.compile(r'"release":"[^"]*"')  # sent by pip
_SECRET_HEADERS = {"authorization", "service-authorization", "x-csrftoken", "proxy-authorization"}
_NOT_KEPT = {"connection", "content-length", "transfer-encoding", "expect"}
_SECRET_COOKIE = re.compile(r"((?:^|; )[\w\-]*(?:session|token|sid|csrf|gatewall)[\w\-]*=)([^;]+)", re.IGNORECASE)


def made_up(secret: str) -> str:
    """Return another text of the same shape: a rule that takes one for an attack takes the other for one, too."""
    source = random.Random(hashlib.sha256(secret.encode()).digest())  # noqa: S311 - no secret, a stand-in for one
    kinds = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
    return "".join(next((source.choice(kind) for kind in kinds if each in kind), each) for each in secret)


class Cleaner:
    """Rewrites texts that name this machine."""

    def __init__(self, *folders: Path) -> None:
        """Take the folders that the sessions ran in."""
        self._folders = [str(folder) for folder in sorted(folders, key=lambda each: -len(str(each)))]

    def text(self, text: str) -> str:
        """Return the text with a made-up host and folder."""
        text = _NAMED_ADDRESS.sub(lambda found: found[1] + HOST, text)
        text = _ADDRESS.sub(HOST, text)
        for folder in self._folders:
            for form in (folder, quote(folder, safe=""), quote(folder)):
                text = text.replace(form, "/data" if "%2F" not in form else "%2Fdata")
        return text

    def header(self, name: str, value: str) -> str:
        """Return the value of a header without what is secret."""
        if name.lower() in _SECRET_HEADERS:
            scheme, space, secret = value.partition(" ")
            return scheme + space + made_up(secret) if space else made_up(value)
        if name.lower() == "cookie":
            return _SECRET_COOKIE.sub(lambda found: found[1] + made_up(found[2]), value)
        return self.text(_KERNEL.sub('"release":"6.1.0-18-amd64"', value))


def written(seen: Iterable[Seen], path: Path, cleaner: Cleaner, sessions: Collection[str]) -> int:
    """Write each distinct request, by method, URI and destination, as a line of `gatewall waf rates`; return how many.

    The file keeps the lines of other sessions.
    """
    lines: dict[tuple[str, ...], str] = {}
    for line in gzip.decompress(path.read_bytes()).decode("ascii").splitlines() if path.exists() else ():
        item = json.loads(line)
        if item["meta"]["session"] not in sessions:
            lines[item["method"], item["uri"], item["headers"].get("Destination", "")] = line
    for each in seen:
        uri = cleaner.text(each.uri)
        headers = {
            name: cleaner.header(name, value)
            for name, value in each.headers
            if name.lower() not in _NOT_KEPT and not name.startswith(":")
        }
        key = (each.method, uri, headers.get("Destination", ""))
        if key in lines:
            continue
        item = {
            "id": f"own-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}",
            "source": f"own/{each.session}",
            "label": "benign",
            "visible": "uri",
            "method": each.method,
            "uri": uri,
            "headers": headers,
            "body": None,
            "meta": {"session": each.session},
        }
        lines[key] = json.dumps(item, sort_keys=True, separators=(",", ":"))
    text = "".join(line + "\n" for line in lines.values())
    path.write_bytes(gzip.compress(text.encode("ascii"), 9, mtime=0))
    return len(lines)
