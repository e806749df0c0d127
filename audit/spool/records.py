"""Access record: one request and its decision, as stored in the access log. Pure.

It contains no tokens, cookies, bodies or passwords. Every text is bounded, and secrets in targets are masked in advance
(``audit.spool.masking``).

``FIELDS`` is the one table of its fields: columns, filters, JSON, export, masking and log page derive from it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum, auto
from typing import Any

import orjson

from audit.spool.masking import masked_host, masked_path, masked_query, masked_text
from gatewall.engine.model import Effect, Reason, SubjectKind
from gatewall.engine.values import value
from gatewall.kernel.changes import DECIDING, Resource


class RecordRefused(ValueError):
    """The bytes are not an access record."""


@value
class AccessRecord:
    """One request and its decision; ``FIELDS`` defines what is stored.

    ``at`` is in seconds since the epoch. ``decided_by``, ``credential``, ``subject`` and ``rules`` are the JSON objects
    of the API.
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
    """True for a refused subresource request of a page; only detectors read it."""
    shadow: dict[str, Any] | None = None
    """What the shadow policy would have answered, if that differs; amended after the answer."""
    waf_score: int | None = None
    """Highest score of a category, from WAF rules that block; None if no such rule matched."""
    would_refuse: bool = False
    """True if the WAF would have refused the request outside monitor mode."""

    def to_bytes(self) -> bytes:
        """Return the record as one line of JSON in UTF-8, without the last fields if they have their defaults."""
        try:
            data = orjson.dumps(self)
            if self.made_by_page or self.shadow is not None or self.waf_score is not None or self.would_refuse:
                return data
            return data[:_BEFORE_DEFAULTS] + b"}"
        except orjson.JSONEncodeError:  # a lone surrogate, or a number beyond 64 bits
            return json.dumps(asdict(self)).encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes) -> "AccessRecord":
        """Parse a record. Raises RecordRefused."""
        try:
            return cls(**_parsed(data))
        except (ValueError, TypeError, RecursionError) as error:
            raise RecordRefused(f"not an access record ({type(error).__name__})") from None


_ORJSON_START = b'{"decision_id":"'
_BEFORE_DEFAULTS = -len(b',"made_by_page":false,"shadow":null,"waf_score":null,"would_refuse":false}')
"""Start of the last fields, from the end, if all have their defaults: ``from_bytes`` does not need them."""


def _parsed(data: bytes) -> dict[str, Any]:
    # Records that only ``json`` could write (recognizable by its spaces) are read unchanged only by ``json``.
    parsed: dict[str, Any] = orjson.loads(data) if data.startswith(_ORJSON_START) else json.loads(data)
    return parsed


@value
class EncodedRecord:
    """An access record as bytes, a part of which was encoded in advance."""

    at: float
    data: bytes

    def to_bytes(self) -> bytes:
        return self.data


class Kind(Enum):
    """Type of a field, which determines its columns and default filter."""

    ID = auto()
    MOMENT = auto()
    ADDRESS = auto()
    TEXT = auto()
    NUMBER = auto()
    FLAG = auto()
    """True or false; the column has NULL for false."""
    ROW = auto()
    """A reference to a row by kind, id and perhaps name, in columns ``<field>_kind``, ``<field>_id``, ..."""
    RULES = auto()
    JSON = auto()


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the access record.

    ``name``: key in record, API and exports, and column. ``length``: maximum characters of a text. ``mask``: masks
    secrets before truncation. ``choices``: all values, or all kinds of a row. ``low``, ``high``: bounds of a number.
    ``parts``: columns of a row reference, with the length of texts. ``labels``: labels of its filters on the log page,
    by filter name.
    """

    name: str
    kind: Kind
    length: int = 0
    null: bool = False
    blank: bool = False
    mask: Callable[[str], str] = str
    choices: tuple[str, ...] = ()
    low: int = 0
    high: int = 2**63 - 1
    parts: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, int]:
        """Return the columns with the maximum length of texts, 0 for others."""
        if self.kind is Kind.ROW:
            return {f"{self.name}_{part}": length for part, length in self.parts.items()}
        return {self.name: self.length, **({"client_key": 33} if self.kind is Kind.ADDRESS else {})}

    @property
    def words(self) -> Mapping[str, str]:
        """Return the labels of the filters; by default one filter, labeled with the name of the field."""
        return self.labels or {self.name: self.name.replace("_", " ")}


HOST = Field("host", Kind.TEXT, 255, null=True, mask=masked_host)
PATH = Field("path", Kind.TEXT, 2048, mask=masked_path)
QUERY = Field("query", Kind.TEXT, 2048, blank=True, mask=masked_query)
USER_AGENT = Field("user_agent", Kind.TEXT, 512, blank=True, mask=masked_text)
GRANT_OF = {
    Reason.GRANT_VALID.value: (Resource.GRANTS.value, "decided_by"),
    Reason.SHARE_LINK_VALID.value: (Resource.SHARE_LINKS.value, "subject"),
    Reason.DEVICE_PASS_VALID.value: (Resource.DEVICE_PASSES.value, "subject"),
}
"""By reason: the kind of temporary permission that let the request in, and the field with its id."""
DECIDED_BY = Field(
    "decided_by",
    Kind.ROW,
    choices=tuple(sorted(resource.value for resource in DECIDING)),
    parts={"kind": 64, "id": 0},
    labels={
        "decided_by": "decided by (kind:id)",
        "decided_by_kind": "kind of row that decided",
        "decided_by_id": "id of row that decided",
        "grant": "grant, share link or device pass (kind:id)",
    },
)
SUBJECT = Field(
    "subject",
    Kind.ROW,
    choices=tuple(SubjectKind),
    parts={"kind": 16, "id": 0, "name": 100},
    labels={
        "subject": "subject (kind:id)",
        "subject_kind": "kind of subject",
        "subject_id": "subject id",
        "subject_name": "subject name",
    },
)
NODE = Field("node", Kind.TEXT, 100, blank=True)
"""The host of the spool; not part of the record."""

MAX_SCORE = 32_767
"""Maximum score that fits into the column."""

FIELDS = (
    Field("decision_id", Kind.ID),
    Field("at", Kind.MOMENT, labels={"start_time": "from", "end_time": "until"}),
    Field("client_ip", Kind.ADDRESS, 45, labels={"client_ip": "client"}),
    Field("country_code", Kind.TEXT, 2, null=True, labels={"country_code": "country"}),
    Field("method", Kind.TEXT, 32),
    Field("scheme", Kind.TEXT, 16, choices=("http", "https")),
    HOST,
    PATH,
    QUERY,
    USER_AGENT,
    Field("status", Kind.NUMBER, low=100, high=599),
    Field("outcome", Kind.TEXT, 16, choices=tuple(Effect)),
    Field("reason", Kind.TEXT, 64, choices=tuple(Reason)),
    DECIDED_BY,
    Field(
        "rules",
        Kind.RULES,
        labels={"rule_id": "rule id", "rule_name": "rule name", "rule_action": "rule action"},
    ),
    Field(
        "credential",
        Kind.JSON,
        null=True,
        labels={
            "credential_kind": "kind of credential",
            "credential_state": "state of credential",
            "amr": "sign-in method",
        },
    ),
    Field(
        "visible",
        Kind.JSON,
        choices=("body", "for", "headers", "host", "method", "proto", "uri"),
        labels={"visible": "parts that the proxy sent"},
    ),
    SUBJECT,
    Field(
        "latency_us",
        Kind.NUMBER,
        labels={
            "latency_us": "latency in µs",
            "latency_us_min": "latency in µs, at least",
            "latency_us_max": "latency in µs, at most",
        },
    ),
    Field("policy_revision", Kind.NUMBER),
    Field(
        "waf_score",
        Kind.NUMBER,
        null=True,
        high=MAX_SCORE,
        labels={"waf_score": "WAF score", "waf_score_min": "WAF score, at least"},
    ),
    Field("would_refuse", Kind.FLAG, labels={"would_refuse": "WAF would refuse"}),
    Field(
        "shadow",
        Kind.JSON,
        null=True,
        labels={
            "shadow": "shadow policy",
            "shadow_effect": "outcome under the shadow policy",
            "shadow_reason": "reason under the shadow policy",
        },
    ),
    NODE,
)
"""The fields that are stored and shown, in the order of the API."""


def grant_of(reason: str, decided_by: Mapping[str, Any] | None, subject: Mapping[str, Any] | None) -> Any:
    """Return kind and id of the grant, share link or device pass that let the request in, or None."""
    kind, field_name = GRANT_OF.get(reason, ("", ""))
    row = decided_by if field_name == "decided_by" else subject
    return {"kind": kind, "id": row["id"]} if kind and row else None


def storable(text: str, length: int) -> str:
    """Truncate a text and remove what databases reject: NUL and lone surrogates."""
    if text.isascii() and "\0" not in text:
        return text[:length]
    return text[:length].replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
