"""WSGI-like application of the data plane: the gate's paths and health, nothing else. Pure.

One synchronous call per request: the body comes with it, so there is nothing to wait for.
"""

import json
from collections.abc import Callable, Iterable, Sequence

from gatewall import __version__
from gatewall.gate import bodies, headers, routes
from gatewall.gate.gate import Gate, Policies
from gatewall.gate.meaning import Meaning
from gatewall.gate.responses import not_allowed, plain
from gatewall.gate.shadow import CallLater
from gatewall.gate.subrequest import Subrequest
from gatewall.gate.waf_state import waf_checks
from gatewall.kernel.trusted_callers import TrustedCallers
from gatewall.server.answer_bytes import Answer
from gatewall.server.environ import origin_form
from gatewall.server.heads import Head, KnownLines
from gatewall.server.http1 import Body, Line

_HEALTH = frozenset({"/health", "/health/live", "/health/ready"})
_NO_BODY = Body(b"", ended=True)


class AuthApplication:
    """Answers subrequests from memory."""

    def __init__(self, gate: Gate, policies: Policies, root_path: str, trusted: TrustedCallers) -> None:
        self._gate = gate
        self._policies = policies
        self._root_path = root_path
        self._trusted = trusted
        self.report_heads: Callable[[dict[str, int]], None] = lambda _: None
        """Callback for the figures of this worker's memo of heads."""

    def __call__(
        self,
        method: str,
        target: bytes,
        lines: Sequence[Line],
        peer: str,
        scheme: str,
        body: Body | None,
        head: Head | None = None,
    ) -> Answer:
        """Answer a request; target, lines and body are raw, ``peer`` is "" for a unix socket.

        ``head`` is the known head of these lines, if any; it always has the same peer and scheme.
        """
        if head is not None and head.meaning is not None and isinstance(lines, KnownLines):
            route, meaning = head.meaning
            found = self._gate.again(meaning, lines)
            if isinstance(found, Answer):
                return found
            fields = meaning.headers(lines)
            subrequest = Subrequest(peer, scheme, fields, method, route.target, None, meaning)
            return self._gate.check(route.dialect, subrequest, found)
        raw_target = origin_form(target.decode("latin-1"))
        route = routes.find(self._root_path, raw_target)
        if route is None:
            if routes.is_key_set(self._root_path, raw_target):
                return self._gate.key_set(method)
            return self._health(raw_target.partition("?")[0], peer, lines)
        if not route.allows(method):
            return not_allowed()
        dialect, shown, meaning = route.dialect, None, None
        fields = headers.from_lines(lines)
        if dialect.shows_body and bodies.is_sent(fields):  # an announced body is judged even if no byte came
            read = body or _NO_BODY
            shown = bodies.of_read(read.data, fields, ended=read.ended)
        elif head is not None and dialect.varies_in_headers:
            meaning = Meaning(head)
            head.meaning = (route, meaning)
        subrequest = Subrequest(peer, scheme, fields, method, route.target, shown, meaning)
        return self._gate.check(dialect, subrequest)

    def work_after_answers(self, call_later: CallLater) -> None:
        """Evaluate the shadow policy in calls that ``call_later`` makes after the answers."""
        if self._gate.shadow is not None:
            self._gate.shadow.work_by(call_later)

    def close(self) -> None:
        """Flush the records of this worker to disk. Call once, after the last request."""
        self._gate.close()

    def _health(self, path: str, peer: str, lines: Iterable[Line]) -> Answer:
        """Answer a health check. Ready needs a policy and, if records must be kept, a usable spool; no database."""
        if path.removeprefix(self._root_path) not in _HEALTH or not path.startswith(self._root_path):
            return plain(404)
        alive = path.endswith("/live")
        needed = {} if alive else self._checks()
        ready = all(found == "ok" for found in needed.values())
        # An unconfirmed policy is reported but does not drain the plane.
        also = {} if alive else self._gate.alarms() | waf_checks(self._policies.current())
        body: dict[str, object] = {"status": "ok" if ready else "unavailable"}
        fields = headers.from_lines(lines)
        if self._trusted.includes(peer, fields.get("x-forwarded-for"), fields.get("authorization", "")):
            body |= {"version": __version__, "checks": needed | also}
        kind = ("Content-Type", "application/json")
        return plain(200 if ready else 503, kind, body=json.dumps(body).encode())

    def _checks(self) -> dict[str, str]:
        return {
            "policy": "ok" if self._policies.current() else "none published yet",
            "spool": "ok" if self._gate.can_record() else "cannot be written",
        }
