"""Downloads: never from a private address unless allowed, and never beyond the limits of time and size."""

import io
import socket
import time
from contextlib import suppress

import pytest

from gatewall.kernel import downloads
from gatewall.kernel.downloads import ANYWHERE, BY_HAND, PUBLIC, DownloadFailed, DownloadRefused, Reach, download
from tests.support.publisher import publishing

PLAIN_PUBLIC = Reach(http=True, http_from_here=True, private=False)
"""As PUBLIC, without TLS, so that a server on loopback can be asked."""


def fetched(url, **options):
    with download(url, **options) as downloaded:
        body = io.BytesIO()
        downloaded.save(body, at_most=1024)
        return body.getvalue()


@pytest.fixture
def publisher():
    with publishing({"/list": (200, {"ETag": '"1"'}, b"1.2.3.4\n")}) as publisher:
        yield publisher


def test_a_body_is_read_to_its_end(publisher):
    assert fetched(f"{publisher.url}/list", reach=ANYWHERE) == b"1.2.3.4\n"


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "127.1.2.3",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
        ),
        *("224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1"),
        *("2002:7f00:1::", "64:ff9b::7f00:1", "64:ff9b::a00:1", "fe80::1%eth0", "nonsense"),
        *("64:ff9b:1::7f00:1", "64:ff9b:1::a00:1", "::127.0.0.1", "::ffff:0:127.0.0.1", "fec0::1", "5f00::1"),
    ],
)
def test_an_address_that_is_not_public(address):
    assert not downloads.is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2a00:1450:4001:810::200e", "64:ff9b::808:808", "2002:808:808::"])
def test_an_address_that_is_public(address):
    assert downloads.is_public(address)


def test_a_name_that_resolves_to_this_machine_is_refused_before_connecting(publisher):
    with pytest.raises(DownloadRefused, match=r"^localhost has an address that is not public$"):
        fetched(f"{publisher.url.replace('127.0.0.1', 'localhost')}/list", reach=PLAIN_PUBLIC)
    assert publisher.asked == []


def test_a_name_with_one_private_address_among_public_ones_is_refused(monkeypatch):
    places = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (text, 443)) for text in ("8.8.8.8", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: places)

    with pytest.raises(DownloadRefused, match="not public"):
        fetched("https://lists.example/drop.txt", reach=PUBLIC)


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch):
    asked = []
    place = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: place)

    def connect(address, *_):
        asked.append(address)
        raise OSError

    monkeypatch.setattr(socket, "create_connection", connect)

    with pytest.raises(DownloadFailed):
        fetched("https://lists.example/drop.txt", reach=PUBLIC)
    assert asked == [("8.8.8.8", 443)]


def test_a_redirect_from_a_public_host_to_this_machine_is_refused(publisher, monkeypatch):
    target = f"{publisher.url.replace('127.0.0.1', 'localhost')}/list"
    publisher.answers["/away"] = (302, {"Location": target}, b"")
    firsts = iter([True])
    monkeypatch.setattr(downloads, "is_public", lambda _: next(firsts, False))  # the first host counts as public

    with pytest.raises(DownloadRefused, match="not public"):
        fetched(f"{publisher.url}/away", reach=PLAIN_PUBLIC)
    assert len(publisher.asked) == 1


@pytest.mark.parametrize(
    ("url", "reach"),
    [
        ("http://lists.example/drop.txt", PUBLIC),
        ("http://127.0.0.1/drop.txt", PUBLIC),
        ("https://127.0.0.1/drop.txt", PUBLIC),
        ("https://[::1]/drop.txt", PUBLIC),
        ("https://169.254.169.254/latest", PUBLIC),
        ("http://lists.example/drop.txt", BY_HAND),
        ("file:///etc/passwd", ANYWHERE),
        ("http://", ANYWHERE),
        ("https://user:hunter2@lists.example/", ANYWHERE),
    ],
)
def test_a_url_that_is_never_fetched(url, reach):
    with pytest.raises(DownloadRefused) as caught:
        downloads.require_acceptable(url, reach)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("host", ["a..example", f"{'a' * 64}.example"])
@pytest.mark.parametrize("reach", [PUBLIC, ANYWHERE])
def test_an_impossible_host_name_is_refused(host, reach):
    with pytest.raises(DownloadRefused, match="no valid host name"):
        fetched(f"https://{host}/list", reach=reach)


def test_a_body_that_is_too_long_is_refused(publisher):
    publisher.answers["/list"] = (200, {}, b"1" * 2000)

    with pytest.raises(DownloadRefused, match="more than"):
        fetched(f"{publisher.url}/list", reach=ANYWHERE)


def silent(_, over):
    over.wait(5)


def dribbling_head(request, over):
    request.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not over.wait(0.02):
        request.wfile.write(b"X-More: 1\r\n"[:1])


def dribbling_body(request, over):
    request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while not over.wait(0.02):
        request.wfile.write(b"1")


@pytest.mark.parametrize("answer", [silent, dribbling_head, dribbling_body])
def test_an_endless_response_is_abandoned_at_the_deadline(publisher, answer):
    publisher.answers["/list"] = answer
    began = time.monotonic()

    with pytest.raises(DownloadFailed, match="took too long"):
        fetched(f"{publisher.url}/list", reach=ANYWHERE, seconds=0.3)
    assert time.monotonic() - began < 3


def test_an_unchanged_document_is_not_sent_again(publisher):
    publisher.answers["/list"] = (304, {}, b"")

    with download(f"{publisher.url}/list", reach=ANYWHERE, tag='"1"') as downloaded:
        assert downloaded.is_unchanged
    assert publisher.asked[0]["If-None-Match"] == '"1"'


def test_not_modified_without_a_tag_is_a_failure(publisher):
    publisher.answers["/list"] = (304, {}, b"")

    with pytest.raises(DownloadFailed, match="304"):
        fetched(f"{publisher.url}/list", reach=ANYWHERE)


def test_a_redirect_to_an_invalid_url_is_a_failure(publisher):
    publisher.answers["/list"] = (302, {"Location": "https://[oops/list"}, b"")

    with pytest.raises(DownloadFailed, match="cannot be reached"):
        fetched(f"{publisher.url}/list", reach=ANYWHERE)


def endless_redirect(request, over):
    request.wfile.write(b"HTTP/1.1 302 Found\r\nLocation: /list\r\n\r\n")
    with suppress(OSError):
        while not over.is_set():
            request.wfile.write(b"1" * 65536)


def test_the_body_of_a_redirect_is_not_read(publisher):
    publisher.answers["/away"] = endless_redirect

    assert fetched(f"{publisher.url}/away", reach=ANYWHERE, seconds=2) == b"1.2.3.4\n"


def test_a_content_length_that_python_cannot_parse_is_ignored(publisher):
    publisher.answers["/list"] = (200, {"Content-Length": "9" * 5000}, b"1.2.3.4\n")

    assert fetched(f"{publisher.url}/list", reach=ANYWHERE) == b"1.2.3.4\n"
