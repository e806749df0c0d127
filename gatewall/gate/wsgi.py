"""Serve the gate's paths on the control plane, before Django. Pure.

Django would answer 400 where the gate answers 403, decode the path and fold headers.
"""

from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from typing import Any, Protocol

from gatewall.gate import bodies, headers, routes
from gatewall.gate.after_answers import AfterAnswers
from gatewall.gate.gate import Gate
from gatewall.gate.responses import not_allowed
from gatewall.gate.routes import Route
from gatewall.gate.subrequest import Subrequest
from gatewall.server import threaded
from gatewall.server.environ import BODY_ENDED, origin_form
from gatewall.server.http1 import BodyBounds

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


class Background(Protocol):
    """Background work of a process."""

    def stop(self) -> None:
        """Request the end of the work; return immediately."""

    def join(self) -> None:
        """Wait until the work has ended."""


class AuthShim:
    """WSGI middleware: answers the gate's paths, and passes other requests to the application."""

    def __init__(
        self,
        application: Application,
        gate: Gate,
        root_path: str,
        before_decision: Callable[[], object],
        background: Background | None = None,
    ) -> None:
        """``before_decision`` runs before each decision (Django's database connections need it)."""
        self._application = application
        self._gate = gate
        self._root_path = root_path
        self._before_decision = before_decision
        self._after = AfterAnswers(gate.shadow) if gate.shadow is not None else None
        self._background = background

    def bounds(self, target: bytes, length: int | None) -> BodyBounds:
        """Return the read limits for the body of a request; for the gate, those of the data plane."""
        is_ours = routes.find(self._root_path, origin_form(target.decode("latin-1")))
        return bodies.bounds(target, length) if is_ours else threaded.bounds(target, length)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        route = routes.find(self._root_path, _raw_target(environ))
        method = environ["REQUEST_METHOD"]
        if route is None:
            if not routes.is_key_set(self._root_path, _raw_target(environ)):
                return self._application(environ, start_response)
            answer = self._gate.key_set(method)
        elif route.allows(method):
            self._before_decision()
            answer = self._gate.check(route.dialect, _subrequest(environ, route))
        else:
            answer = not_allowed()
        length = ("Content-Length", str(len(answer.body)))
        start_response(f"{answer.status} {HTTPStatus(answer.status).phrase}", [*answer.headers, length])
        parts = (answer.body,) if answer.body and method != "HEAD" else ()
        shadow, after = self._gate.shadow, self._after
        return _ThenCall(parts, after.wake) if shadow is not None and after and shadow.is_waiting else parts

    def stop_background(self) -> None:
        """Stop the background work while the last requests are answered."""
        if self._background is not None:
            self._background.stop()

    def close(self) -> None:
        """Flush the records of this worker to disk; a request under way still gets its record."""
        self._gate.close()
        if self._background is not None:
            self._background.join()


class _ThenCall:
    """Parts of a response, with a callback for when it is closed."""

    def __init__(self, parts: tuple[bytes, ...], then: Callable[[], None]) -> None:
        self._parts = parts
        self.close = then

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._parts)


def _raw_target(environ: Environ) -> str:
    """Return the raw request target (``RAW_URI``); without it only the fixed paths work, which need no decoding."""
    return origin_form(environ.get("RAW_URI") or environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""))


def _subrequest(environ: Environ, route: Route) -> Subrequest:
    fields = headers.from_environ(environ)
    shows_body = route.dialect.shows_body and bodies.is_sent(fields)
    return Subrequest(
        peer=environ.get("REMOTE_ADDR", ""),
        scheme=environ.get("wsgi.url_scheme", "http"),
        headers=fields,
        method=environ["REQUEST_METHOD"],
        target=route.target,
        body=_body(environ, fields) if shows_body else None,
    )


def _body(environ: Environ, fields: headers.Headers) -> bodies.Body | None:
    """Return the body, up to the examined length."""
    data = environ["wsgi.input"].read(bodies.READ_AT_MOST)
    ended = environ.get(BODY_ENDED, True) and len(data) < bodies.READ_AT_MOST
    return bodies.of_read(data, fields, ended=ended)
