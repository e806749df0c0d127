"""Bodies over 1 MiB: only on routes for a policy document, and only from callers authorized by the headers."""

import http.client
import json

import pytest

from gatewall.install.ports import free_port
from gatewall.kernel.request_bodies import BODY_WAITS, MAX_BODY, MAX_LARGE_BODY
from policies.document.limits import MAX_BYTES
from tests.servers.served import served
from tests.support.processes import PATIENCE, control_plane, prepare
from tests.support.servers import Admin
from tests.support.wire import Wire, a_request

LARGE = b"x" * (3 * MAX_BODY)
LENGTH = len(LARGE)


class Site:
    """An application that accepts large bodies except for ``/refused``."""

    def __init__(self):
        self.asked = []

    def __call__(self, environ, start_response):
        waits, data = environ[BODY_WAITS], environ["wsgi.input"].read()
        self.asked.append((waits, len(data)))
        is_let_in = environ["RAW_URI"] != "/refused"
        start_response(("100 Continue" if waits else "200 OK") if is_let_in else "403 Forbidden", [])
        return [b""] if waits else [str(len(data)).encode()]


def head(path="/", length=LENGTH, more=""):
    return f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n{more}\r\n".encode()


def test_a_large_body_is_read_when_the_application_has_seen_the_head():
    site = Site()
    with served(site) as running, Wire(running.port) as wire:
        for _ in range(2):
            answer = wire.ask(head(), LARGE)
            assert (answer.status, answer.body) == (200, b"%d" % len(LARGE))
        assert wire.ask(a_request()).status == 200

    assert site.asked == [*[(True, 0), (False, len(LARGE))] * 2, (False, 0)]


def test_a_client_that_expects_100_continue_gets_it_once_its_body_is_read():
    site = Site()
    with served(site) as running:
        with Wire(running.port) as wire:
            wire.send(head(more="Expect: 100-continue\r\n"))
            assert wire.socket.recv(1024).startswith(b"HTTP/1.1 100 ")
            assert wire.ask(LARGE).status == 200
        with Wire(running.port) as wire:
            assert wire.ask(head("/refused", more="Expect: 100-continue\r\n")).status == 403

    assert site.asked == [(True, 0), (False, len(LARGE)), (True, 0)]


@pytest.mark.parametrize("sent", [b"", LARGE])
def test_the_body_of_a_refused_request_is_not_read_and_the_connection_closes(sent):
    site = Site()
    with served(site) as running, Wire(running.port) as wire:
        answer = wire.ask(head("/refused"), sent)
        assert (answer.status, answer.headers["connection"]) == (403, "close")

    assert site.asked == [(True, 0)]


def test_a_body_over_the_limit_never_waits():
    site = Site()
    with served(site) as running, Wire(running.port) as wire:
        wire.ask(head(length=MAX_LARGE_BODY + 1))

    assert site.asked == [(False, 0)]


def test_a_client_that_leaves_before_its_body_ends_is_forgotten():
    site = Site()
    with served(site) as running:
        with Wire(running.port) as wire:
            wire.send(head(more="Expect: 100-continue\r\n"))
            assert wire.socket.recv(1024).startswith(b"HTTP/1.1 100 ")
            wire.send(LARGE[:70_000])
        with Wire(running.port) as wire:
            assert wire.ask(a_request()).status == 200

    assert site.asked == [(True, 0), (False, 0)]


@pytest.fixture(scope="module")
def control(tmp_path_factory):
    home, port = tmp_path_factory.mktemp("home"), free_port()
    prepare(home)
    with control_plane(home, port, GATEWALL_WORKERS="1"):
        admin = Admin(port)
        reading = admin.post("/api-tokens", name="ci", scopes=["policy:read"])["token"]
        logs = admin.post("/api-tokens", name="logs", scopes=["logs:read"])["token"]
        yield port, admin, {"reading": reading, "logs": logs}


def a_document(size):
    """Return a document of this many bytes, most of them in comment lines."""
    text = "version: 1\n"
    return (text + "# a line\n" * (size // 9))[:size]


def asked(port, verb, path, token, length, body=b""):
    """Announce a body of this length and send this part of it; return status and problem or object."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.putrequest(verb, f"/wall{path}")
        headers = {"Content-Type": "application/json", "Content-Length": str(length)}
        headers |= {"Authorization": f"Bearer {token}"} if token.startswith("gwa_") else {}
        headers |= {"Service-Authorization": token} if token and not token.startswith("gwa_") else {}
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body or None)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def sent(port, verb, path, token, **fields):
    body = json.dumps(fields).encode()
    return asked(port, verb, path, token, len(body), body)


def test_a_document_of_eight_mebibytes_is_taken_by_the_four_routes(control):
    port, admin, _tokens = control
    document = a_document(MAX_BYTES)
    number = sent(port, "POST", "/policy/document/compare", admin.token, document=document)[1]["revision"]

    answers = [
        sent(port, "POST", "/policy/plan", admin.token, document=document),
        sent(port, "PUT", "/policy/shadow", admin.token, document=document, percent=1),
        sent(port, "POST", "/policy/apply", admin.token, document=document, if_revision=number),
    ]

    assert [status for status, _body in answers] == [201, 200, 200], [str(each)[:500] for each in answers]
    status, problem = sent(port, "POST", "/policy/document/compare", admin.token, document=f"{document}#")
    assert (status, problem["code"]) == (400, "document-refused")
    assert "more than 8 MiB" in problem["detail"]


ROUTES = [
    ("POST", "/policy/plan", "policy:read"),
    ("POST", "/policy/document/compare", "policy:read"),
    ("POST", "/policy/apply", "policy:write"),
    ("PUT", "/policy/shadow", "policy:write"),
]


@pytest.mark.parametrize(("verb", "path", "scope"), ROUTES)
def test_unauthorized_callers_are_refused_before_their_body_is_read(control, verb, path, scope):
    """No byte of the body is sent: a server that waited for it would not answer."""
    port, _admin, tokens = control
    length = 8 * MAX_BODY

    callers = ["", "gwa_x", tokens["logs"], *([tokens["reading"]] if scope == "policy:write" else [])]

    refusals = [asked(port, verb, path, each, length) for each in callers]

    codes = ["not-authenticated", "not-authenticated", "scope-missing", "scope-missing"][: len(callers)]
    assert [problem["code"] for _status, problem in refusals] == codes
    assert {status for status, _problem in refusals} == {401, 403}


@pytest.mark.parametrize(("verb", "path"), [(verb, path) for verb, path, _scope in ROUTES])
def test_fifty_mebibytes_are_refused_by_their_length(control, verb, path):
    port, admin, _tokens = control

    status, problem = asked(port, verb, path, admin.token, 50 * MAX_BODY)

    assert (status, problem["code"], problem["detail"]) == (413, "body-too-large", "a body has at most 16 MiB")


@pytest.mark.parametrize("path", ["/policy/shadow/promote", "/ip-black-list", "/system/settings", "/login", "/nowhere"])
def test_other_routes_keep_their_limit(control, path):
    port, admin, _tokens = control

    status, problem = asked(port, "POST", path, admin.token, MAX_BODY + 1)

    assert (status, problem["code"], problem["detail"]) == (413, "body-too-large", "a body has at most 1 MiB")
