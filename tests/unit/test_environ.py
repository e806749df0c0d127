"""The WSGI environ of a request: bytes and separate lines are kept; no header changes the server's own variables."""

import pytest

from gatewall.server.environ import BODY_ENDED, environ_of, header_keys, origin_form
from gatewall.server.http1 import Body, Request

HIGH_BYTES = bytes(range(0x80, 0x100))
HIGH_TEXT = HIGH_BYTES.decode("latin-1")


def environ(target=b"/wall/login", lines=(), *, body=None, method=b"GET", peer="192.0.2.1", is_new=True):
    request = Request(method, target, list(lines), body, keep_alive=True)
    return environ_of(request, peer=peer, is_new=is_new, server=("127.0.0.1", "9999"))


def test_method_peer_server_and_protocol_are_those_of_the_connection():
    found = environ(method=b"POST", lines=[(b"Remote-Addr", b"198.51.100.1"), (b"Server-Name", b"x")])

    assert [found[key] for key in ("REQUEST_METHOD", "REMOTE_ADDR", "SERVER_NAME", "SERVER_PORT")] == [
        *("POST", "192.0.2.1", "127.0.0.1", "9999")
    ]
    assert (found["SERVER_PROTOCOL"], environ(is_new=False)["SERVER_PROTOCOL"]) == ("HTTP/1.1", "HTTP/1.0")
    assert (found["SCRIPT_NAME"], found["wsgi.url_scheme"]) == ("", "http")
    assert environ(peer="")["REMOTE_ADDR"] == ""


@pytest.mark.parametrize("name", [b"X-Forwarded-Proto", b"X-Forwarded-Ssl", b"Script-Name", b"Https", b"Proxy"])
def test_no_header_changes_scheme_or_path(name):
    found = environ(lines=[(name, b"https")])

    assert (found["wsgi.url_scheme"], found["SCRIPT_NAME"], found["PATH_INFO"]) == ("http", "", "/wall/login")


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"/a%2Fb%20c?d=%20&e", "/a/b c", "d=%20&e"),
        (b"/a?b?c", "/a", "b?c"),
        (b"http://x.example/a?b=http://y/", "/a", "b=http://y/"),
        (b"http://x.example", "/", ""),
        (b"HTTPS://x.example?b=/wall/auth", "/", "b=/wall/auth"),
        (b"http://?/wall/auth", "/", "/wall/auth"),
        (b"a?b=http://x.example/wall/auth", "a", "b=http://x.example/wall/auth"),
        (b"ftp://x.example/a", "ftp://x.example/a", ""),
        (b"//evil.example/a", "//evil.example/a", ""),
        (b"/%zz%e4%bd%a0", "/%zz" + b"\xe4\xbd\xa0".decode("latin-1"), ""),
        (b"/" + HIGH_BYTES, "/" + HIGH_TEXT, ""),
        (b"*", "*", ""),
    ],
)
def test_a_target_is_a_path_without_its_escapes_and_a_query_with_them(target, path, query):
    found = environ(target)

    assert (found["PATH_INFO"], found["QUERY_STRING"]) == (path, query)
    assert found["RAW_URI"] == target.decode("latin-1")


def test_an_absolute_target_is_cut_to_its_path():
    assert origin_form("https://a.example/b?c") == "/b?c"


def test_header_values_keep_every_byte():
    assert environ(lines=[(b"X-Forwarded-Uri", HIGH_BYTES)])["HTTP_X_FORWARDED_URI"] == HIGH_TEXT


def test_lines_of_one_name_stay_apart_but_for_cookies():
    lines = [(b"X-Forwarded-Uri", b"/a,b"), (b"x-forwarded-uri", b"/c"), (b"Cookie", b"a=1"), (b"COOKIE", b"b=2")]

    assert header_keys(lines) == {"HTTP_X_FORWARDED_URI": "/a,b\n/c", "HTTP_COOKIE": "a=1; b=2"}


@pytest.mark.parametrize("name", [b"X_Forwarded_For", b"X_Forwarded-For", b"Content_Length", b"_"])
def test_a_name_with_an_underscore_is_dropped(name):
    assert header_keys([(name, b"1.2.3.4")]) == {}


def test_type_and_length_of_a_body_have_no_prefix():
    lines = [(b"Content-Type", b"text/plain"), (b"content-length", b"3"), (b"X.Dot", b"1")]

    assert header_keys(lines) == {"CONTENT_TYPE": "text/plain", "CONTENT_LENGTH": "3", "HTTP_X.DOT": "1"}


@pytest.mark.parametrize(
    ("body", "data", "ended"),
    [(None, b"", True), (Body(b"abc", ended=True), b"abc", True), (Body(b"ab", ended=False), b"ab", False)],
)
def test_the_body_in_the_environ_is_the_part_that_was_read(body, data, ended):
    found = environ(body=body)

    assert (found["wsgi.input"].read(), found[BODY_ENDED]) == (data, ended)
