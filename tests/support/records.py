"""Access log records, and an in-memory recorder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from audit.spool.frames import frames
from audit.spool.records import AccessRecord, EncodedRecord
from audit.spool.segments import segment_of
from tests.support.cast import CLIENT, NOW, OFFICE


def a_record(number: int = 1, **parts: Any) -> AccessRecord:
    """Return an access log record; the number makes it unique."""
    usual: dict[str, Any] = {
        "decision_id": f"019cebab-8748-7000-8000-{number:012d}",
        "at": NOW,
        "client_ip": CLIENT,
        "country_code": "NZ",
        "method": "GET",
        "scheme": "https",
        "host": OFFICE,
        "path": "/wiki",
        "query": "page=1",
        "user_agent": "curl/8",
        "status": 403,
        "outcome": "deny",
        "reason": "waf-rule",
        "decided_by": {"kind": "waf-rule", "id": 7},
        "rules": [{"id": 7, "name": "attack", "action": "block"}],
        "credential": {"kind": "session-cookie", "amr": ["pwd"], "state": "valid"},
        "visible": ["for", "host"],
        "subject": {"kind": "user", "id": 2, "name": "Bob"},
        "latency_us": 42,
        "policy_revision": 5,
    }
    return AccessRecord(**(usual | parts))


def read_records(path: Path) -> Iterator[AccessRecord]:
    """Yield the intact records of a segment."""
    segment = segment_of(path)
    data = path.read_bytes()[segment.first :] if segment else b""
    return (AccessRecord.from_bytes(frame.record) for frame in frames(data, 0) if frame.record is not None)


class Records:
    """Recorder that keeps records in memory."""

    def __init__(self) -> None:
        self.written: list[Any] = []

    def write(self, record: AccessRecord | EncodedRecord) -> bool:
        self.written.append(record)
        return True

    @property
    def read(self) -> list[AccessRecord]:
        """What a reader of the spool gets."""
        return [AccessRecord.from_bytes(record.to_bytes()) for record in self.written]

    def is_usable(self) -> bool:
        return True

    def close(self) -> None:
        self.written.clear()
