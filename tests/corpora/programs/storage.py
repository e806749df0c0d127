"""Store recorded requests: secrets replaced, a sample of at most ``PER_PROGRAM`` requests of each program."""

import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.corpora.programs.session import PASSWORD
from tests.corpora.record.clean import Cleaner, made_up
from tests.corpora.record.tap import Seen

STORED = Path(__file__).parents[1] / "programs.jsonl.gz"
PER_PROGRAM = 120
MAX_BODY = 66_000
"""Bytes of a body that are stored: more than what the WAF reads (64 KiB), so that it is as long to it as it was."""
_NOT_KEPT = {"connection", "content-length", "transfer-encoding", "expect", "upgrade"}
_OPAQUE = re.compile(r"[\w+/=.~%-]{16,}")
_SECRET_FIELD = re.compile(
    r"(?i)((?:csrf\w*|xsrf\w*|_xsrf|\w*token\w*|\w*secret\w*|\w*nonce|api_?key|session(?:_?id)?|sid|otk)"
    r"(?:\"\s*:\s*\"|=|\"\r\n\r\n))([\w+/.~%-]{12,}=*)"
)


def _sample(seen: Sequence[Seen], most: int) -> list[Seen]:
    """Return evenly spaced requests, in their order."""
    return [seen[each * len(seen) // most] for each in range(most)] if len(seen) > most else list(seen)


def chosen(seen: Sequence[Seen]) -> list[Seen]:
    """Return distinct requests: an even sample of those with a body, and one of the others up to ``PER_PROGRAM``.

    Nothing but the order and the body of a request decides whether it is in the sample.
    """
    distinct = list({(each.method, each.uri, each.body, _destination(each)): each for each in reversed(seen)}.values())
    distinct.reverse()
    bodies = _sample([each for each in distinct if each.body], PER_PROGRAM * 3 // 4)
    others = _sample([each for each in distinct if not each.body], PER_PROGRAM - len(bodies))
    kept = set(map(id, [*bodies, *others]))
    return [each for each in distinct if id(each) in kept]


def _destination(seen: Seen) -> str:
    return next((value for name, value in seen.headers if name.lower() == "destination"), "")


class Secrets:
    """Replaces the secrets that servers gave to the recorded clients, wherever they are."""

    def __init__(self, seen: Sequence[Seen], cleaner: Cleaner) -> None:
        """Collect the secrets: opaque values of credentials, cookies and fields with telling names."""
        self._cleaner, self._secrets = cleaner, set[str]()
        for each in seen:
            texts = [value for name, value in each.headers if name.lower() in {"cookie", "x-csrftoken", "x-xsrftoken"}]
            texts += [value for name, value in each.headers if self._is_credential(name, value)]
            for text in texts:
                self._secrets.update(found for found in _OPAQUE.findall(text) if re.search(r"\d|[A-Z]", found))
            for text in (each.uri, each.body[:MAX_BODY].decode("latin-1")):
                self._secrets.update(found[2] for found in _SECRET_FIELD.finditer(text) if found[2] != PASSWORD)

    @staticmethod
    def _is_credential(name: str, value: str) -> bool:
        """Return whether a value is a credential, except Basic: its user and password are the recorder's own."""
        lowered = name.lower()
        named = "auth" in lowered or "token" in lowered or "secret" in lowered
        return named and not value.lower().startswith("basic ")

    def text(self, text: str) -> str:
        """Return the text with other secrets of the same shape, and without what names this machine."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            if secret in text:
                text = text.replace(secret, made_up(secret))
        return self._cleaner.text(text)


def lines_of(name: str, seen: Sequence[Seen], cleaner: Cleaner, about: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the sample of a program as lines of ``gatewall waf rates``."""
    secrets, found = Secrets(seen, cleaner), []
    for number, each in enumerate(chosen(seen)):
        headers = {key: secrets.text(value) for key, value in each.headers if key.lower() not in _NOT_KEPT}
        body = secrets.text(each.body[:MAX_BODY].decode("latin-1"))
        key = hashlib.sha256(f"{name} {number} {each.method} {each.uri}".encode()).hexdigest()[:16]
        found.append({
            "id": f"program-{key}", "source": "own/programs", "label": "benign", "category": name,
            "visible": "body" if body else "uri", "method": each.method, "uri": secrets.text(each.uri),
            "headers": headers, "body": body or None, "meta": {"application": f"{name} (recorded)", **about},
        })  # fmt: skip
    return found


def stored() -> list[dict[str, Any]]:
    """Return the recorded requests of all programs."""
    return [json.loads(line) for line in gzip.decompress(STORED.read_bytes()).splitlines()] if STORED.exists() else []


def store(lines: list[dict[str, Any]]) -> None:
    """Replace the requests of the programs that the lines are of; those of others stay."""
    names = {line["category"] for line in lines}
    kept = [line for line in stored() if line["category"] not in names]
    rows = sorted([*kept, *lines], key=lambda line: line["category"])
    text = "".join(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n" for line in rows)
    STORED.write_bytes(gzip.compress(text.encode("ascii"), 9, mtime=0))
