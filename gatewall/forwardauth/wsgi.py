"""The gate's paths on the control plane, answered before Django sees the request. Pure.

Django's middleware would answer 400 to hosts that must get 403, decode the path and fold headers.
"""

import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from http import HTTPStatus
from socket import SHUT_RD, socket
from threading import Timer
from typing import Any

from gatewall.forwardauth import bodies, headers, routes
from gatewall.forwardauth.gate import Gate
from gatewall.forwardauth.responses import not_allowed
from gatewall.forwardauth.routes import Route
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
            answer = self._gate.check(route.dialect, _subrequest(environ, route))
        else:
            answer = not_allowed(str(uuid.uuid4()))
        length = ("Content-Length", str(len(answer.body)))
        start_response(f"{answer.status} {HTTPStatus(answer.status).phrase}", [*answer.headers, length])
        return (answer.body,) if answer.body and method != "HEAD" else ()

    def close(self) -> None:
        """Bring the records of this worker to disk; an answer that is under way still keeps its record, too."""
        self._gate.close()


def _raw_target(environ: Environ) -> str:
    """Return the request target as it stands in the request line, which gunicorn calls RAW_URI.

    Servers that do not keep it serve the fixed paths, which nothing needs to be decoded for.
    """
    return routes.origin_form(environ.get("RAW_URI") or environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""))


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
    """Return what comes of the body in time, up to what is looked at.

    A read waits as long as the proxy pleases, and gunicorn's may be many; so the connection, which
    gunicorn shows us, takes nothing more when the time is over. It is closed after the answer then.
    """
    connection = environ.get("gunicorn.socket")
    alarm = Timer(bodies.SECONDS, _take_no_more, (connection,)) if connection is not None else None
    data, ended = b"", False
    try:
        if alarm is not None:
            alarm.start()
        data = environ["wsgi.input"].read(bodies.READ_AT_MOST)
        ended = len(data) < bodies.READ_AT_MOST
    except OSError:  # it ended within a chunk
        pass
    finally:
        if alarm is not None:
            alarm.cancel()
    return bodies.of_read(data, fields, ended=ended)


def _take_no_more(connection: socket) -> None:
    with suppress(OSError):  # it is closed already
        connection.shutdown(SHUT_RD)
