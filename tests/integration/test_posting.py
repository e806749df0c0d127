"""POST requests over TLS: only to receivers with a valid certificate."""

import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager

import pytest

from gatewall.kernel import posting
from gatewall.kernel.downloads import ANYWHERE, PUBLIC
from tests.support.receiver import Receiver


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Return a self-signed certificate for localhost, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subprocess.run([*command, *subject, *files], check=True, capture_output=True, timeout=30)
    return folder


@contextmanager
def receiving_over_tls(folder):
    receiver = Receiver()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    receiver.server.socket = context.wrap_socket(receiver.server.socket, server_side=True)
    threading.Thread(target=receiver.server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield receiver, f"https://localhost:{receiver.server.server_port}/hook"
    finally:
        receiver.server.shutdown()
        receiver.server.server_close()


def post(url, reach=ANYWHERE):
    return posting.post(url, b"{}", {"webhook-id": "msg_1"}, reach=reach, seconds=5)


def test_a_receiver_with_a_trusted_certificate_is_accepted(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    with receiving_over_tls(certificate) as (receiver, url):
        assert post(url) == posting.Posted(204)
        assert post(url.replace("localhost", "127.0.0.1")).failure == "TLS failed (CERTIFICATE_VERIFY_FAILED)"

    [(_, headers, body)] = receiver.got
    assert (body, headers["webhook-id"]) == (b"{}", "msg_1")
    assert headers["host"] == url.split("/")[2]


def test_a_receiver_with_a_self_signed_certificate_is_refused(certificate):
    with receiving_over_tls(certificate) as (receiver, url):
        assert post(url).failure == "TLS failed (CERTIFICATE_VERIFY_FAILED)"

    assert receiver.got == []


def test_a_name_with_a_private_address_is_not_connected_to(monkeypatch):
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in ("192.0.2.1", "10.0.0.7")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("connected"))

    assert post("https://rebinding.example/", PUBLIC).failure == "rebinding.example has an address that is not public"


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch):
    looked_up, tried = [], []

    def lookup(host, *arguments, **more):
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", 443))]

    def connect(place, *arguments):
        tried.append(place)
        raise OSError(111, "Connection refused")

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    monkeypatch.setattr(socket, "create_connection", connect)

    assert post("https://receiver.example/", PUBLIC).failure == "Connection refused"
    assert (looked_up, tried) == (["receiver.example"], [("8.8.8.8", 443)])


@pytest.mark.parametrize("url", ["https://", "https://a..b/", f"https://{'a' * 64}.example/", "https://a:70000/", "x"])
def test_an_invalid_url_is_a_failure_and_raises_nothing(url):
    assert post(url).failure


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (b"", "the connection was closed without an answer"),
        (b"\xff\xfe hello\r\n\r\n", "the answer is not valid HTTP (BadStatusLine)"),
        (b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 70_000 + b"\r\n\r\n", "the answer is not valid HTTP (LineTooLong)"),
    ],
    ids=["none", "no HTTP", "long header"],
)
def test_a_receiver_that_does_not_speak_http_is_a_failure_with_a_message(answer, failure):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                request = b""
                while not request.endswith(b"{}"):
                    request += connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        posted = post(f"http://127.0.0.1:{server.getsockname()[1]}/")
        thread.join()

    assert posted.failure == failure
