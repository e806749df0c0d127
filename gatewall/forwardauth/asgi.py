"""The data plane's application: the gate's paths and health, over ASGI, and nothing else. Pure.

ASGI gives header bytes and the path as they came; a server interface that decodes them first cannot
be used here (docs/adr/0008-data-plane.md).
"""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from gatewall.forwardauth import bodies, headers, routes
from gatewall.forwardauth.gate import Gate, Policies
from gatewall.forwardauth.responses import Answer, not_allowed, plain
from gatewall.forwardauth.subrequest import Subrequest
from gatewall.forwardauth.waf_state import waf_checks

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_HEALTH = frozenset({"/health", "/health/live", "/health/ready"})


class AuthApplication:
    """Answers subrequests from memory; there is nothing here to wait for but a body."""

    def __init__(self, gate: Gate, policies: Policies, root_path: str) -> None:
        self._gate = gate
        self._policies = policies
        self._root_path = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        raw_path: bytes = scope["raw_path"]
        method: str = scope["method"]
        answer = await self._answer(scope, receive, raw_path.decode("latin-1"), method)
        fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
        fields.append((b"content-length", b"%d" % len(answer.body)))
        await send({"type": "http.response.start", "status": answer.status, "headers": fields})
        await send({"type": "http.response.body", "body": b"" if method == "HEAD" else answer.body})

    async def _answer(self, scope: Scope, receive: Receive, path: str, method: str) -> Answer:
        query: bytes = scope["query_string"]
        target = f"{path}?{query.decode('latin-1')}" if query else path
        route = routes.find(self._root_path, target)
        if route is None:
            return self._health(path)
        if not route.allows(method):
            return not_allowed(str(uuid.uuid4()))
        client = scope.get("client")
        fields = headers.from_lines(scope["headers"])
        shows_body = route.dialect.shows_body and bodies.is_sent(fields)
        subrequest = Subrequest(
            peer=client[0] if client else "",
            scheme=scope["scheme"],
            headers=fields,
            method=method,
            target=route.target,
            body=await _body(receive, fields) if shows_body else None,
        )
        return self._gate.check(route.dialect, subrequest)

    def _health(self, path: str) -> Answer:
        """A database outage must not drain the data plane: ready is a policy, and a spool if records must be kept."""
        if path.removeprefix(self._root_path) not in _HEALTH or not path.startswith(self._root_path):
            return plain(404, str(uuid.uuid4()))
        alive = path.endswith("/live")
        needed = {} if alive else self._checks()
        ready = all(found == "ok" for found in needed.values())
        # A policy that was not confirmed is said and drains nothing.
        also = {} if alive else self._gate.alarms() | waf_checks(self._policies.current())
        body = {"status": "ok" if ready else "unavailable", "checks": needed | also}
        kind = ("Content-Type", "application/json")
        return plain(200 if ready else 503, str(uuid.uuid4()), kind, body=json.dumps(body).encode())

    def _checks(self) -> dict[str, str]:
        return {
            "policy": "ok" if self._policies.current() else "none published yet",
            "spool": "ok" if self._gate.can_record() else "cannot be written",
        }


async def _body(receive: Receive, fields: headers.Headers) -> bodies.Body | None:
    """Return what comes of the body in time, up to what is looked at."""
    data, ended = bytearray(), False
    with suppress(TimeoutError):
        async with asyncio.timeout(bodies.SECONDS):
            while not ended and len(data) < bodies.READ_AT_MOST:
                message = await receive()
                if message["type"] != "http.request":  # it is gone
                    break
                data += message.get("body", b"")
                ended = not message.get("more_body", False)
    return bodies.of_read(bytes(data), fields, ended=ended)
