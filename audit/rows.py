"""Records as rows. Pure: what does not fit is cut, what cannot be a row is refused."""

import json
import uuid
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from audit.records import MAX_PATH, MAX_QUERY, MAX_TEXT, AccessRecord, RecordRefused
from gatewall.engine.addresses import parse_address

COLUMNS = (
    "decision_id",
    "at",
    "node",
    "client_ip",
    "client_key",
    "country_code",
    "method",
    "scheme",
    "host",
    "path",
    "query",
    "user_agent",
    "status",
    "outcome",
    "reason",
    "decided_by_kind",
    "decided_by_id",
    "rules",
    "credential",
    "visible",
    "subject_kind",
    "subject_id",
    "subject_name",
    "latency_us",
    "policy_revision",
)
"""The columns of the access log, in the order of ``row_of``."""
_NOBODY: dict[str, Any] = {"kind": None}
_SMALL, _BIG = 2**15 - 1, 2**63 - 1
_encode = json.JSONEncoder(separators=(",", ":")).encode


def row_of(record: AccessRecord, node: str) -> tuple[Any, ...]:
    """Return the values of a row. Raises RecordRefused for a record that can be none."""
    decided_by, subject = record.decided_by or _NOBODY, record.subject or _NOBODY
    try:
        return (
            uuid.UUID(record.decision_id),
            datetime.fromtimestamp(record.at, UTC),
            node,
            record.client_ip[:45],
            client_key(record.client_ip),
            _text_or_none(record.country_code, 2),
            _text(record.method, 32),
            _text(record.scheme, 16),
            _text_or_none(record.host, 255),
            _text(record.path, MAX_PATH),
            _text(record.query, MAX_QUERY),
            _text(record.user_agent, MAX_TEXT),
            _number(record.status, _SMALL),
            _text(record.outcome, 16),
            _text(record.reason, 64),
            _text_or_none(decided_by["kind"], 64),
            _id(decided_by.get("id")),
            _encode(record.rules) if record.rules else "[]",
            None if record.credential is None else _encode(record.credential),
            _encode(record.visible),
            _text_or_none(subject["kind"], 16),
            _id(subject.get("id")),
            _text_or_none(subject.get("name"), 100),
            _number(record.latency_us, _BIG),
            _number(record.policy_revision, _BIG),
        )
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError) as error:
        raise RecordRefused(f"not a row ({type(error).__name__})") from None


def rules_of(record: AccessRecord, row: tuple[Any, ...]) -> list[tuple[int, datetime, uuid.UUID]]:
    """Return the rows of the rules that contributed to this row. Raises RecordRefused."""
    try:
        return [(_number(rule["id"], _BIG), row[1], row[0]) for rule in record.rules]
    except (ValueError, TypeError, LookupError) as error:
        raise RecordRefused(f"not a rule ({type(error).__name__})") from None


# The same visitors come again and again, and reading an address is a fifth of the work of a row.
@lru_cache(maxsize=8192)
def client_key(address: str) -> str:
    """Return an address as text that sorts like it. Raises ValueError."""
    parsed = parse_address(address)
    if parsed is None:
        raise ValueError("not an address")
    return f"4{int(parsed):08x}" if parsed.version == 4 else f"6{int(parsed):032x}"


def _text(value: str, length: int) -> str:
    return value[:length].replace("\0", "\ufffd")


def _text_or_none(value: str | None, length: int) -> str | None:
    return None if value is None else _text(value, length)


def _number(value: int, most: int) -> int:
    if type(value) is not int or not -most <= value <= most:
        raise ValueError("not a number of this column")
    return value


def _id(value: int | None) -> int | None:
    return None if value is None else _number(value, _BIG)
