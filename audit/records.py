"""The access-log record: what one answer leaves behind. Pure.

It has no place for tokens, cookies, bodies or passwords. Every text is bounded, and secrets in query
strings are masked before they get here (``masked_query``).
"""

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

MAX_PATH = 2048
MAX_QUERY = 2048
MAX_TEXT = 512
_MASK = "***"
_SECRET_NAMES = frozenset(
    {
        "access_token",
        "api_key",
        "apikey",
        "auth",
        "authorization",
        "client_secret",
        "code",
        "id_token",
        "jwt",
        "key",
        "license",
        "otp",
        "pass",
        "passwd",
        "password",
        "private_token",
        "pwd",
        "refresh_token",
        "secret",
        "session",
        "sessionid",
        "sig",
        "signature",
        "token",
        "totp",
    }
)


class RecordRefused(ValueError):
    """The bytes are not an access record."""


@dataclass(frozen=True, slots=True)
class AccessRecord:
    """One answer of the gate; the fields are those of ``/access-logs`` (contract section 5).

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

    def to_bytes(self) -> bytes:
        """Return the record as one line of JSON, ASCII only."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(fields, separators=(",", ":")).encode("ascii")

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


def masked_query(query: str) -> str:
    """Return a query string in which the values of secret names are masked, cut to 2,048 characters.

    Names are compared decoded and without case: ``%54oken=x`` hides nothing.
    """
    if "=" not in query:
        return query[:MAX_QUERY]
    parts = (_masked_argument(part) for part in query[: MAX_QUERY * 2].split("&"))
    return "&".join(parts)[:MAX_QUERY]


def _masked_argument(part: str) -> str:
    name, equals, value = part.partition("=")
    plain = unquote_plus(unquote_plus(name)).strip().lower().replace("-", "_")
    return f"{name}={_MASK}" if equals and value and plain in _SECRET_NAMES else part
