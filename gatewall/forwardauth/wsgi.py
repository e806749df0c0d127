"""``/auth`` on the control plane, answered before Django sees the request. Pure.

Django's middleware would answer 400 to hosts that must get 403, decode the path and fold headers.
"""

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from gatewall.forwardauth import headers
from gatewall.forwardauth.gate import Dialect, Gate
from gatewall.forwardauth.responses import Answer
from gatewall.forwardauth.subrequest import Subrequest

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

_METHODS = frozenset({"GET", "HEAD"})
_NOT_ALLOWED = Answer(405, (("Allow", "GET, HEAD"), ("Content-Length", "0"), ("Cache-Control", "no-store")))


class AuthShim:
    """Answers the paths of the gate; everything else goes to the application."""

    def __init__(
        self, application: Application, gate: Gate, dialects: Mapping[str, Dialect], around: Callable[[], object]
    ) -> None:
        """``dialects`` by full path; ``around`` is called before each decision (database hygiene)."""
        self._application = application
        self._gate = gate
        self._dialects = dialects
        self._around = around

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        dialect = self._dialects.get(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""))
        if dialect is None:
            return self._application(environ, start_response)
        if environ["REQUEST_METHOD"] in _METHODS:
            self._around()
            answer = self._gate.check(dialect, _subrequest(environ))
        else:
            answer = _NOT_ALLOWED
        start_response(f"{answer.status} {HTTPStatus(answer.status).phrase}", list(answer.headers))
        return ()


def _subrequest(environ: Environ) -> Subrequest:
    return Subrequest(
        peer=environ.get("REMOTE_ADDR", ""),
        scheme=environ.get("wsgi.url_scheme", "http"),
        headers=headers.from_environ(environ),
    )
