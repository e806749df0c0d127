"""Access-log rows as a backtest reads them: plain values, JSON parsed lazily. Pure."""

import json
import uuid
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from audit.spool.records import AccessRecord


class Row(NamedTuple):
    """What of a row a decision may rest on; the last four are JSON texts. What tells rows apart comes first."""

    decision_id: uuid.UUID
    at: datetime
    client_ip: str
    method: str
    scheme: str
    host: str | None
    path: str
    query: str
    user_agent: str
    outcome: str
    reason: str
    decided_by_kind: str | None
    decided_by_id: int | None
    subject_kind: str | None
    subject_id: int | None
    subject_name: str | None
    policy_revision: int
    rules: str
    credential: str | None
    visible: str


def record_of(row: Row) -> AccessRecord:
    """Return the record that the row was made of, without what no decision rests on."""
    subject = {"kind": row.subject_kind, "id": row.subject_id, "name": row.subject_name}
    return AccessRecord(
        decision_id=str(row.decision_id),
        at=row.at.timestamp(),
        client_ip=row.client_ip,
        country_code=None,
        method=row.method,
        scheme=row.scheme,
        host=row.host,
        path=row.path,
        query=row.query,
        user_agent=row.user_agent,
        status=0,
        outcome=row.outcome,
        reason=row.reason,
        decided_by={"kind": row.decided_by_kind, "id": row.decided_by_id} if row.decided_by_kind else None,
        rules=_parsed(row.rules),
        credential=None if row.credential is None else _parsed(row.credential),
        visible=_parsed(row.visible),
        subject=subject if row.subject_kind else None,
        latency_us=0,
        policy_revision=row.policy_revision,
    )


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Any:
    return json.loads(text)
