"""Convert access records to database rows: truncate what is too long, reject what cannot be stored. Pure."""

import json
import uuid
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from audit.spool.records import MAX_PATH, MAX_QUERY, MAX_TEXT, AccessRecord, RecordRefused, storable
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
            _storable(record.country_code, 2),
            storable(record.method, 32),
            storable(record.scheme, 16),
            _storable(record.host, 255),
            storable(record.path, MAX_PATH),
            storable(record.query, MAX_QUERY),
            storable(record.user_agent, MAX_TEXT),
            int(record.status),
            storable(record.outcome, 16),
            storable(record.reason, 64),
            _storable(decided_by["kind"], 64),
            decided_by.get("id"),
            _encode([_rule(rule) for rule in record.rules]) if record.rules else "[]",
            None if record.credential is None else _encode(record.credential),
            _encode(record.visible),
            _storable(subject["kind"], 16),
            subject.get("id"),
            _storable(subject.get("name"), 100),
            int(record.latency_us),
            int(record.policy_revision),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise RecordRefused(f"not a row ({type(error).__name__})") from None


# The same visitors come again and again, and reading an address is a fifth of the work of a row.
@lru_cache(maxsize=8192)
def client_key(address: str) -> str:
    """Return an address as text that sorts like it. Raises ValueError."""
    parsed = parse_address(address)
    if parsed is None:
        raise ValueError("not an address")
    return f"4{int(parsed):08x}" if parsed.version == 4 else f"6{int(parsed):032x}"


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    return {**rule, "id": int(rule["id"]), "name": str(rule["name"])}


def _storable(value: str | None, length: int) -> str | None:
    return None if value is None else storable(value, length)
