"""The same visit in each dialect."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gatewall.engine.model import AccessRequest
from gatewall.gate import subrequest
from gatewall.gate.subrequest import Subrequest
from tests.support.cast import NOW, PROXY, TRUSTED

VISIT = {"client": "1.2.3.4", "host": "office.example", "proto": "https", "method": "POST", "uri": "/path?q=1"}


@dataclass(frozen=True)
class Tongue:
    """A dialect, and how it writes a visit: headers, method and target."""

    parse: Callable[..., AccessRequest]
    write: Callable[..., dict[str, Any]]
    required: tuple[str, ...]

    def ask(self, *, peer: str = PROXY, trusted=TRUSTED, extra=None, **visit: str | None) -> AccessRequest:
        """Parse a subrequest about the visit, with some parts or ``extra`` headers replaced; None omits a header."""
        parts = self.write(**(VISIT | visit))
        headers = {name: value for name, value in (parts["headers"] | (extra or {})).items() if value is not None}
        asked = Subrequest(peer, "http", headers, parts.get("method", "GET"), parts.get("target", "/"))
        return self.parse(asked, trusted, NOW)


def _forwarding(client, host, proto, method, uri):
    headers = {"for": client, "host": host, "proto": proto, "method": method, "uri": uri}
    return {
        "headers": {"host": "gatewall.internal"} | {f"x-forwarded-{name}": value for name, value in headers.items()}
    }


def _original(client, host, proto, method, uri):
    headers = {"x-forwarded-for": client, "x-original-url": f"{proto}://{host}{uri}", "x-original-method": method}
    return {"headers": {"host": "gatewall.internal"} | headers}


def _request_line(client, host, proto, method, uri):
    headers = {"x-forwarded-for": client, "host": host, "x-forwarded-proto": proto}
    return {"headers": headers, "method": method, "target": uri}


TONGUES = {
    "auth": Tongue(subrequest.auth, _forwarding, ()),
    "forward": Tongue(
        subrequest.forward,
        _forwarding,
        ("x-forwarded-for", "x-forwarded-host", "x-forwarded-method", "x-forwarded-uri"),
    ),
    "original-url": Tongue(
        subrequest.original_url, _original, ("x-forwarded-for", "x-original-url", "x-original-method")
    ),
    "envoy": Tongue(subrequest.envoy, _request_line, ("x-forwarded-for", "host")),
}
