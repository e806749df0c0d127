"""The access record: what one answer of the gate leaves in the access log. Pure.

It has no place for tokens, cookies, bodies or passwords. Every text is bounded, and secrets in
targets are masked before they get here (``audit.spool.masking``).
"""

import json
from dataclasses import asdict
from typing import Any

import orjson

from gatewall.engine.values import value

MAX_PATH = 2048
MAX_QUERY = 2048
MAX_TEXT = 512


class RecordRefused(ValueError):
    """The bytes are not an access record."""


@value
class AccessRecord:
    """One answer of the gate; the fields are those of ``/access-logs`` (docs/api.md).

    ``at`` is in seconds since the epoch. ``decided_by``, ``credential``, ``subject`` and ``rules`` are
    the JSON objects of the API.
    """

    decision_id: str
    at: float
    client_ip: str
    country_code: str | None
    method: str
    scheme: str
    host: str | None
    path: str
    query: str
    user_agent: str
    status: int
    outcome: str
    reason: str
    decided_by: dict[str, Any] | None
    rules: list[dict[str, Any]]
    credential: dict[str, Any] | None
    visible: list[str]
    subject: dict[str, Any] | None
    latency_us: int
    policy_revision: int
    made_by_page: bool = False
    """True for a refused request that a page made the visitor's browser send; only detectors read it."""

    def to_bytes(self) -> bytes:
        """Return the record as one line of JSON, in UTF-8."""
        try:
            return orjson.dumps(self)
        except orjson.JSONEncodeError:  # half of a surrogate pair, or a number beyond 64 bits
            return json.dumps(asdict(self)).encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes) -> "AccessRecord":
        """Return the record of these bytes. Raises RecordRefused."""
        try:
            return cls(**json.loads(data))
        except (ValueError, TypeError, RecursionError) as error:
            raise RecordRefused(f"not an access record ({type(error).__name__})") from None


def storable(text: str, length: int) -> str:
    """Return a text, cut, that every database takes: no NUL, no half of a surrogate pair."""
    if text.isascii() and "\0" not in text:
        return text[:length]
    return text[:length].replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
