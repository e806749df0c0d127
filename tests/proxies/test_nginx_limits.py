"""Requests that nginx accepts and the gate's servers do not: never a 500, and never access."""

import http.client
import socket
from urllib.parse import parse_qs, urlsplit

import pytest

from gatewall.install.ports import free_port
from tests.support.processes import BROWSER, PATIENCE, api, nginx, request

REFUSED = {401, 403}


@pytest.fixture(scope="module")
def name_of_the_gate(gate):
    """Register the name of nginx's upstream as a site that every session may enter."""
    api(gate, "/authorized-domains", name="gatewall_auth")


@pytest.fixture(params=["signed in", "anonymous"])
def visitor(request, cookie):
    """Return the headers of a browser, with and without a session."""
    return {**BROWSER, "Cookie": cookie} if request.param == "signed in" else BROWSER


def ways_in(visitor):
    """Return the right statuses for this visitor if the request is not refused for its form."""
    return {200} if "Cookie" in visitor else {302}


def raw(port, *lines):
    """Send raw lines; return the status."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1"))
        response = http.client.HTTPResponse(connection)
        response.begin()
        return response.status


@pytest.mark.parametrize("length", [3_700, 8_000])
@pytest.mark.parametrize("head", ["/wiki?q=", "/wiki/"])
@pytest.mark.parametrize("letter", ["a", "["])
def test_visitor_with_a_long_address_is_sent_to_the_guard_page(proxy, length, head, letter):
    answer = request(proxy, head + letter * (length - len(head)), BROWSER)

    back = urlsplit(parse_qs(urlsplit(answer.header("Location")).query)["rd"][0])
    assert answer.status == 302
    assert back.netloc == f"127.0.0.1:{proxy}"
    assert back.path in {"/wiki", "/"}


@pytest.mark.parametrize("length", [8_170, 8_177])  # the second is the longest that nginx accepts
@pytest.mark.parametrize("head", ["/wiki?q=", "/"])
def test_visitor_with_the_longest_address_is_judged_like_any_other(proxy, visitor, head, length):
    assert request(proxy, head + "a" * (length - len(head)), visitor).status in ways_in(visitor)


def test_session_at_the_end_of_the_longest_cookie_header_is_found(proxy, cookie):
    long = "a=" + "b" * (8_180 - len(cookie) - 4) + "; " + cookie

    assert len(long) == 8_180
    assert request(proxy, "/", {**BROWSER, "Cookie": long}).status == 200


def test_visitor_with_many_headers_gets_no_error(proxy, visitor, monkeypatch):
    monkeypatch.setattr(http.client, "_MAXHEADERS", 200)  # the stub site's own limit
    many = {f"X-Header-{number}": "x" for number in range(95 - len(visitor))}

    assert request(proxy, "/", {**visitor, **many}).status in ways_in(visitor) | {403}


@pytest.mark.parametrize("byte", ["\x01", "\x1f", "\x7f", "\t", "\x80"])
def test_visitor_with_a_control_byte_in_a_header_gets_no_error(proxy, visitor, byte):
    lines = [f"{name}: {value}" for name, value in visitor.items()]

    status = raw(proxy, "GET / HTTP/1.1", f"Host: 127.0.0.1:{proxy}", "Connection: close", f"X-A: a{byte}b", *lines)

    assert status in ways_in(visitor) | REFUSED


@pytest.mark.usefixtures("name_of_the_gate")
def test_request_without_a_host_is_not_judged_by_the_name_of_the_gate(gate, asked, site, cookie, tmp_path):
    # With an empty server_name, nginx accepts such a request without any host.
    port = free_port()
    nameless = f'return 404; }} server {{ listen 127.0.0.1:{port}; server_name "";'
    with nginx(tmp_path, gate=gate, auth=asked, site=site.port, extra=nameless):
        before = len(site.requests)

        status = raw(port, "GET / HTTP/1.0", f"Cookie: {cookie}")

    assert (status, len(site.requests)) == (403, before)
