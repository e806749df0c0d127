"""Both planes in this process, with requests of every proxy dialect as raw bytes.

Both run behind their server's parser: the control plane is the WSGI shim, the data plane is the application over
published files.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from django.conf import settings

from gatewall.gate import bodies
from gatewall.gate.application import AuthApplication
from gatewall.gate.build import build_gate
from gatewall.gate.countries import Countries
from gatewall.gate.wsgi import AuthShim
from gatewall.kernel.trusted_callers import TrustedCallers
from gatewall.publication.publisher import publish
from gatewall.server.answer_bytes import answer_bytes
from gatewall.server.environ import environ_of
from gatewall.server.http1 import Request, RequestReader
from gatewall.snapshot.host_paths import policy_files
from gatewall.snapshot.published import PublishedPolicies
from tests.support.cast import CLIENT, OFFICE
from tests.support.form import FULL
from tests.support.proxies import ROOT, AuthEndpoint

Line = tuple[str, str]
EVERY_HIGH = bytes(range(0x80, 0x100)).decode("latin-1")
HIGH = EVERY_HIGH if FULL else EVERY_HIGH[::9]
"""The high bytes sent to both planes one by one; ``tests/gate/test_bytes.py`` sends each one to one plane."""
_IDS = ("x-gatewall-decision-id", "x-request-id")


@dataclass(frozen=True)
class Question:
    """The bytes of a proxy's subrequest; text is latin-1."""

    target: str
    lines: tuple[Line, ...]
    method: str = "GET"
    peer: str = "127.0.0.1"
    body: bytes = b""

    def plus(self, *lines: Line) -> "Question":
        """Return the request with additional header lines."""
        return replace(self, lines=(*self.lines, *lines))

    def showing(self, body: bytes, *lines: Line) -> "Question":
        """Return the request with a body that the proxy forwards, and additional header lines."""
        return replace(self, body=body).plus(("Content-Length", str(len(body))), *lines)

    def without(self, *names: str) -> "Question":
        """Return the request without the headers of these names."""
        return replace(self, lines=tuple(line for line in self.lines if line[0].lower() not in names))

    def header(self, name: str, value: str) -> "Question":
        """Return the request with only this line of the header."""
        return self.without(name.lower()).plus((name, value))


@dataclass(frozen=True)
class Given:
    """A response: status, headers by lower-case name and body, without request ids."""

    status: int
    headers: dict[str, str]
    body: str
    request_id: str = field(default="", compare=False)

    @property
    def verdict(self) -> tuple[int, str]:
        return self.status, self.headers.get("x-gatewall-reason", "")


def _given(status: int, fields: Iterable[tuple[str, str]], body: bytes) -> Given:
    pairs = [(name.lower(), value) for name, value in fields]
    headers = dict(pairs)
    assert len(headers) == len(pairs), f"a header twice: {pairs}"
    request_id = headers.get("x-request-id", "")
    ids = {headers.pop(name) for name in _IDS if name in headers}
    assert len(ids) <= 1, ids
    text = body.decode()
    return Given(status, headers, text.replace(ids.pop(), "the-id") if ids else text, request_id)


def _bytes(question: Question) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in question.lines)
    return f"{question.method} {question.target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + question.body


def ask_shim(shim: AuthShim, question: Question) -> Given:
    """Send a request to the control plane's shim, through its server's parser."""
    reader = RequestReader(shim.bounds)
    reader.feed(_bytes(question))
    request = reader.next()
    assert isinstance(request, Request)
    environ = environ_of(request, peer=question.peer, is_new=True, server=("127.0.0.1", "9999"))
    started: list[tuple[str, list[tuple[str, str]]]] = []
    body = b"".join(shim(environ, lambda status, fields: started.append((status, fields))))
    ((status, fields),) = started
    return _given(int(status[:3]), fields, body)


def ask_application(application: AuthApplication, question: Question) -> Given:
    """Send a request to the data plane's application, through its server's parser."""
    reader = RequestReader(bodies.bounds)
    reader.feed(_bytes(question))
    request = reader.next()
    assert isinstance(request, Request)
    method, target, lines, body, *_ = request
    answer = application(method.decode("latin-1"), target, lines, question.peer, "http", body)
    sent = answer_bytes(answer, "", shows_body=question.method != "HEAD", keep_alive=True)
    head, _, given = sent.partition(b"\r\n\r\n")
    start, *fields = head.decode("latin-1").split("\r\n")
    pairs = [(name, value) for name, _, value in (field.partition(": ") for field in fields)]
    return _given(int(start.split(" ")[1]), pairs, given)


class ControlPlane:
    """The WSGI shim behind its server's parser."""

    def __init__(self) -> None:
        self._endpoint = AuthEndpoint()

    def __call__(self, question: Question) -> Given:
        return ask_shim(self._endpoint.shim, question)

    def close(self) -> None:
        self._endpoint.gate.close()


class DataPlane:
    """The data plane's application behind its server's parser; publishes committed changes first."""

    def __init__(self) -> None:
        config = settings.CONFIG
        self._files = policy_files(config)
        self._policies = PublishedPolicies(self._files)
        self._gate = build_gate(config, self._policies, Countries.of(config))
        trusted = TrustedCallers(config.trusted_proxies, config.metrics_token)
        self._application = AuthApplication(self._gate, self._policies, config.root_path, trusted)

    def __call__(self, question: Question) -> Given:
        publish(self._files)
        self._policies.refresh()
        return self.ask(question)

    def ask(self, question: Question) -> Given:
        """Send a request without publishing first."""
        return ask_application(self._application, question)

    def close(self) -> None:
        self._gate.close()


# The dialects.


def _forwarding(path: str) -> Callable[..., Question]:
    def ask(
        *, method: str = "GET", host: str = OFFICE, client: str = CLIENT, proto: str = "https", uri: str = "/"
    ) -> Question:
        lines = [
            ("Host", "gatewall.internal:9998"),
            ("X-Forwarded-For", client),
            ("X-Forwarded-Host", host),
            ("X-Forwarded-Proto", proto),
            ("X-Forwarded-Method", method),
            ("X-Forwarded-Uri", uri),
        ]
        return Question(f"{ROOT}{path}", tuple(lines))

    return ask


def _original_url(
    *, method: str = "GET", host: str = OFFICE, client: str = CLIENT, proto: str = "https", uri: str = "/"
) -> Question:
    lines = [
        ("Host", "gatewall.internal:9998"),
        ("X-Forwarded-For", client),
        ("X-Original-URL", f"{proto}://{host}{uri}"),
        ("X-Original-Method", method),
    ]
    return Question(f"{ROOT}/auth/original-url", tuple(lines))


def _envoy(
    *, method: str = "GET", host: str = OFFICE, client: str = CLIENT, proto: str = "https", uri: str = "/"
) -> Question:
    lines = [("Host", host), ("X-Forwarded-For", client), ("X-Forwarded-Proto", proto)]
    return Question(f"{ROOT}/auth/envoy{uri}", tuple(lines), method)


DIALECTS: dict[str, Callable[..., Question]] = {
    "auth": _forwarding("/auth"),
    "forward": _forwarding("/auth/forward"),
    "original-url": _original_url,
    "envoy": _envoy,
}
