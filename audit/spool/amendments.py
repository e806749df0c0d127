"""Amendment of an access record: what the shadow policy would have answered. Pure.

The shadow policy decides after the answer, when the record is already written; the amendment follows the record in the
spool as a separate entry.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from audit.spool.records import RecordRefused
from gatewall.engine.model import Effect, Reason
from gatewall.kernel.changes import DECIDING

_BEGIN = b'{"amends":'
_PARTS = {"effect", "reason", "decided_by"}
_REASONS = {reason.value for reason in Reason}
_KINDS = {resource.value for resource in DECIDING}


@dataclass(frozen=True, slots=True)
class Amendment:
    """An addition to the record of a decision; ``shadow`` is the JSON object of the API."""

    decision_id: uuid.UUID
    at: datetime
    shadow: dict[str, Any]

    @classmethod
    def from_bytes(cls, data: bytes) -> "Amendment":
        """Parse an amendment. Raises RecordRefused."""
        try:
            parsed = json.loads(data)
            at = datetime.fromtimestamp(parsed["at"], UTC)
            return cls(uuid.UUID(parsed["amends"]), at, _shadow_of(parsed["shadow"]))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise RecordRefused(f"not an amendment ({type(error).__name__})") from None


def amendment_bytes(decision_id: str, at: float, shadow: Mapping[str, object]) -> bytes:
    """Return the bytes of an amendment in the spool."""
    return orjson.dumps({"amends": decision_id, "at": at, "shadow": shadow})


def is_amendment(data: bytes) -> bool:
    """Return whether the bytes of a frame begin like an amendment."""
    return data.startswith(_BEGIN)


def _shadow_of(parsed: dict[str, Any]) -> dict[str, Any]:
    """Return the checked object. Raises ValueError, TypeError, KeyError, AttributeError."""
    if parsed.keys() != _PARTS:
        raise ValueError("unknown or missing parts")
    row, reason = parsed["decided_by"], parsed["reason"]
    if reason not in _REASONS:
        raise ValueError("not a reason")
    if row is not None and (row["kind"] not in _KINDS or type(row["id"]) is not int):
        raise ValueError("not a row that decides")
    return {
        "effect": Effect(parsed["effect"]).value,
        "reason": reason,
        "decided_by": None if row is None else {"kind": row["kind"], "id": row["id"]},
    }
