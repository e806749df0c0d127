"""Records of the access log, and a place to keep them."""

from typing import Any

from audit.records import AccessRecord
from tests.cast import CLIENT, NOW, OFFICE


def a_record(number: int = 1, **parts: Any) -> AccessRecord:
    """A record of the access log; the number tells it from others."""
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


class Records:
    """Keeps the records of the gate in memory."""

    def __init__(self) -> None:
        self.written: list = []

    def write(self, record) -> None:
        self.written.append(record)

    def close(self) -> None:
        self.written.clear()
