"""The gate's paths on the control plane, answered before Django sees the request. Pure.

Django's middleware would answer 400 to hosts that must get 403, decode the path and fold headers.
"""

import uuid
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from gatewall.forwardauth import headers, routes
from gatewall.forwardauth.gate import Gate
from gatewall.forwardauth.responses import not_allowed
from gatewall.forwardauth.subrequest import Subrequest

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


class AuthShim:
    """Answers the paths of the gate; everything else goes to the application."""

    def __init__(
        self, application: Application, gate: Gate, root_path: str, before_decision: Callable[[], object]
    ) -> None:
        """``before_decision`` is called before each decision (Django's database connections want it)."""
        self._application = application
        self._gate = gate
        self._root_path = root_path
        self._before_decision = before_decision

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        route = routes.find(self._root_path, _raw_target(environ))
        if route is None:
            return self._application(environ, start_response)
        method = environ["REQUEST_METHOD"]
        if route.allows(method):
            self._before_decision()
            answer = self._gate.check(route.dialect, _subrequest(environ, route.target))
        else:
            answer = not_allowed(str(uuid.uuid4()))
        length = ("Content-Length", str(len(answer.body)))
        start_response(f"{answer.status} {HTTPStatus(answer.status).phrase}", [*answer.headers, length])
        return (answer.body,) if answer.body and method != "HEAD" else ()


def _raw_target(environ: Environ) -> str:
    """Return the request target as it stands in the request line, which gunicorn calls RAW_URI.

    Servers that do not keep it serve the fixed paths, which nothing needs to be decoded for.
    """
    raw: str = environ.get("RAW_URI") or environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    if raw.startswith("/"):
        return raw
    _, separator, rest = raw.partition("://")  # absolute form, RFC 9112 section 3.2.2
    return f"/{rest.partition('/')[2]}" if separator else raw


def _subrequest(environ: Environ, target: str) -> Subrequest:
    return Subrequest(
        peer=environ.get("REMOTE_ADDR", ""),
        scheme=environ.get("wsgi.url_scheme", "http"),
        headers=headers.from_environ(environ),
        method=environ["REQUEST_METHOD"],
        target=target,
    )
