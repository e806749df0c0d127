"""The API through a real server, for everything that Django's test client bypasses."""

import http.client
import json
import socket
import time

import pytest

from gatewall.install.ports import free_port
from gatewall.kernel.request_bodies import MAX_BODY
from tests.support.processes import PASSWORD, PATIENCE, control_plane, prepare


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    home, port = tmp_path_factory.mktemp("home"), free_port()
    prepare(home)
    with control_plane(home, port, GATEWALL_WORKERS="2"):
        yield port


@pytest.fixture(scope="module")
def token(port):
    body = json.dumps({"username": "admin", "password": PASSWORD})
    status, _, answer = call(port, "POST", "/login", body=body)
    assert status == 200, answer
    return json.loads(answer)["token"]


def call(port, verb, path, *headers, token=None, body=None):
    """Send the headers unchanged, repeated ones too; return status, headers and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.putrequest(verb, f"/wall{path}")
        own = [("Service-Authorization", token)] if token else []
        if body is not None:
            own += [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        for name, value in (*own, *headers):
            connection.putheader(name, value)
        connection.endheaders(body.encode() if body is not None else None)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    "path", ["/waf-rules", "/waf-rules?all=true", "/system/settings", "/schema", "/docs", "/health"]
)
def test_head_has_no_body_on_the_wire(port, token, path):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
        line.sendall(
            f"HEAD /wall{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Service-Authorization: {token}\r\n\r\n".encode()
        )
        answer = b"".join(iter(lambda: line.recv(65536), b""))

    head, _, rest = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert rest == b""


def test_everything_arrives_streamed_and_whole(port, token):
    status, headers, body = call(port, "GET", "/waf-rules?all=true", token=token)

    everything = json.loads(body)
    assert (status, headers["Transfer-Encoding"]) == (200, "chunked")
    assert everything["count"] == len(everything["results"]) > 0


def test_a_body_of_1_mib_is_read_and_one_byte_more_is_refused(port, token):
    body = '{"contact": "somebody"}'.ljust(MAX_BODY)

    assert call(port, "PUT", "/system/settings", token=token, body=body)[0] == 200
    status, headers, answer = call(port, "PUT", "/system/settings", token=token, body=f"{body} ")
    assert (status, json.loads(answer)["code"], headers["Connection"]) == (413, "body-too-large", "close")


def test_two_lines_of_a_condition_are_one_list(port, token):
    _, headers, _ = call(port, "GET", "/system/settings", token=token)
    lines = [("If-Match", '"other"'), ("If-Match", headers["ETag"])]

    assert call(port, "PUT", "/system/settings", *lines, token=token, body='{"contact": "me"}')[0] == 200
    assert call(port, "PUT", "/system/settings", *lines, token=token, body='{"contact": "you"}')[0] == 412


def test_a_repeated_request_id_is_ignored(port):
    _, headers, _ = call(port, "GET", "/health/live", ("X-Request-Id", "one"))
    _, twice, _ = call(port, "GET", "/health/live", ("X-Request-Id", "one"), ("X-Request-Id", "two"))
    _, misspelt, _ = call(port, "GET", "/health/live", ("X_Request_Id", "one"))

    assert headers["X-Request-Id"] == "one"
    assert twice["X-Request-Id"] not in {"one", "two", "one,two"}
    assert misspelt["X-Request-Id"] != "one"


def test_the_workers_share_the_rate_limit_and_send_retry_after(port, token):
    call(port, "PUT", "/system/settings", token=token, body='{"api_requests_per_minute": 60}')
    answers = [call(port, "GET", "/session")]
    deadline = time.monotonic() + PATIENCE  # the number in force is remembered for a second
    while answers[-1][0] == 401 and time.monotonic() < deadline:
        answers.append(call(port, "GET", "/session"))

    status, headers, _ = answers[-1]
    assert (status, len(answers) > 50) == (429, True)  # other calls from this address within the minute count too
    assert int(headers["Retry-After"]) >= 1
    assert call(port, "GET", "/health/ready")[0] == 200
    assert call(port, "GET", "/session", token=token)[0] == 200
