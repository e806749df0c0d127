"""Parsing of HTTP/1.1: each request has one reading, however its bytes are split; ambiguous requests are refused."""

import random

import pytest

from gatewall.gate import bodies
from gatewall.gate.bodies import READ_AT_MOST
from gatewall.server import http1
from gatewall.server.http1 import Body, Phase, Refusal, Request, RequestReader
from tests.support.wire import a_request, split

CHUNKED = "Transfer-Encoding: chunked"


def read(*pieces):
    """Return what a reader parses from these pieces, up to the end of the connection."""
    reader, found = RequestReader(bodies.bounds), []
    for piece in pieces:
        reader.feed(piece)
        while (one := reader.next()) is not None:
            found.append(one)
            if isinstance(one, Refusal) or not one.keep_alive:
                return found
    return found


def bytewise(data):
    return [data[at : at + 1] for at in range(len(data))]


def with_lines(*lines):
    return b"GET /a HTTP/1.1\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


def test_a_request_is_read_unchanged():
    data = b"GET /%41//b?x=%2e#\xff HTTP/1.1\r\nhOST: a\r\nX-A: 1\r\nx_b:\r\nX-A:\t\xff 2 \t\r\n\r\n"

    lines = [(b"hOST", b"a"), (b"X-A", b"1"), (b"x_b", b""), (b"X-A", b"\xff 2")]
    assert read(data) == [Request(b"GET", b"/%41//b?x=%2e#\xff", lines, None, keep_alive=True)]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "CONNECT", "PRI", "get", "X-NEW"])
def test_any_token_is_a_method_and_none_changes_the_protocol(method):
    first, second = read(a_request(method=method) * 2)

    assert (first.method, first.body) == (method.encode(), None)
    assert second == first


@pytest.mark.parametrize(
    ("lines", "keeps"),
    [([], True), (["Connection: close"], False), (["Connection: x, Close"], False), (["Connection: keep-alive"], True)],
)
def test_headers_of_the_client_decide_keep_alive(lines, keeps):
    assert [one.keep_alive for one in read(a_request(*lines))] == [keeps]


def test_a_client_of_http_1_0_gets_one_answer_a_connection():
    (only,) = read(b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")

    assert (only.target, only.keep_alive) == (b"/a", False)


MALFORMED = {
    "HTTP/0.9": b"GET /a\r\n\r\n",
    "HTTP/0.9 by name": b"GET /a HTTP/0.9\r\n\r\n",
    "HTTP/1.2": b"GET /a HTTP/1.2\r\n\r\n",
    "HTTP/2.0": b"GET /a HTTP/2.0\r\n\r\n",
    "preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n",
    "another protocol": b"GET /a RTSP/1.0\r\n\r\n",
    "two spaces": b"GET  /a HTTP/1.1\r\n\r\n",
    "space in the target": b"GET /a b HTTP/1.1\r\n\r\n",
    "tab for a space": b"GET\t/a HTTP/1.1\r\n\r\n",
    "NUL in the target": b"GET /a\0 HTTP/1.1\r\n\r\n",
    "no target": b"GET HTTP/1.1\r\n\r\n",
    "blank line before": b"\r\nGET /a HTTP/1.1\r\n\r\n",
    "bare LF in the request line": b"GET /a HTTP/1.1\nA: b\r\n\r\n",
    "bare LF": with_lines(b"A: b\nC: d"),
    "bare CR": with_lines(b"A: b\rC: d"),
    "CR CR LF": with_lines(b"A: b\r"),
    "NUL": with_lines(b"A: b\0"),
    "control byte": with_lines(b"A: b\x01"),
    "DEL": with_lines(b"A: b\x7f"),
    "folded line": with_lines(b"A: b", b" c"),
    "line that starts with a tab": with_lines(b"A: b", b"\tc"),
    "first line that is folded": with_lines(b" A: b"),
    "space before the colon": with_lines(b"A : b"),
    "no colon": with_lines(b"A"),
    "no name": with_lines(b": a"),
    "name that is no token": with_lines(b"A(b): c"),
    "high byte in a name": with_lines(b"\xc3: c"),
    "length and chunks": with_lines(b"Content-Length: 3", b"Transfer-Encoding: chunked") + b"0\r\n\r\n",
    "chunks and length": with_lines(b"Transfer-Encoding: chunked", b"Content-Length: 3") + b"0\r\n\r\n",
    "two lengths": with_lines(b"Content-Length: 3", b"Content-Length: 4") + b"abcd",
    "one length twice": with_lines(b"Content-Length: 3", b"Content-Length: 3") + b"abc",
    "list of lengths": with_lines(b"Content-Length: 3, 3") + b"abc",
    "signed length": with_lines(b"Content-Length: +3") + b"abc",
    "negative length": with_lines(b"Content-Length: -3") + b"abc",
    "hexadecimal length": with_lines(b"Content-Length: 0x3") + b"abc",
    "empty length": with_lines(b"Content-Length:"),
    "length of 23 digits": with_lines(b"Content-Length: 99999999999999999999999"),
    "xchunked": with_lines(b"Transfer-Encoding: xchunked") + b"0\r\n\r\n",
    "identity": with_lines(b"Transfer-Encoding: identity"),
    "chunked in quotes": with_lines(b'Transfer-Encoding: "chunked"') + b"0\r\n\r\n",
    "chunked after a tab of another kind": with_lines(b"Transfer-Encoding: \x0bchunked") + b"0\r\n\r\n",
    "chunked twice": with_lines(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked") + b"0\r\n\r\n",
    "chunked and gzip": with_lines(b"Transfer-Encoding: chunked, gzip") + b"0\r\n\r\n",
    "gzip and chunked": with_lines(b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n",
    "no coding": with_lines(b"Transfer-Encoding:"),
    "chunks in HTTP/1.0": b"GET /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunk of no size": a_request(CHUNKED, body=b"\r\nabc\r\n0\r\n\r\n"),
    "chunk size with 0x": a_request(CHUNKED, body=b"0x3\r\nabc\r\n0\r\n\r\n"),
    "chunk size with a space": a_request(CHUNKED, body=b"3 \r\nabc\r\n0\r\n\r\n"),
    "chunk size that overflows": a_request(CHUNKED, body=b"ffffffffffffffffff\r\nabc"),
    "chunk size before a bare LF": a_request(CHUNKED, body=b"3\nabc\r\n0\r\n\r\n"),
    "chunk that is too long": a_request(CHUNKED, body=b"3\r\nabcd\r\n0\r\n\r\n"),
    "trailer": a_request(CHUNKED, body=b"3\r\nabc\r\n0\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n"),
    "chunks that are all extension": a_request(CHUNKED, body=b"1;" + b"x" * 40_000 + b"\r\na\r\n0\r\n\r\n"),
    "body of another protocol": a_request("Connection: upgrade", "Upgrade: x", "Content-Length: 3", body=b"abc"),
    "chunks of another protocol": a_request("Connection: upgrade", "Upgrade: x", CHUNKED, body=b"0\r\n\r\n"),
}


@pytest.mark.parametrize("deliver", [lambda data: [data], bytewise], ids=["at once", "byte by byte"])
@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_ambiguous_requests_are_refused(data, deliver):
    assert read(*deliver(data + a_request(target="/behind"))) == [Refusal(400)]


@pytest.mark.parametrize("digits", [21, 5000])
def test_a_length_with_more_digits_than_a_number_has_is_refused(digits):
    assert read(with_lines(b"Content-Length: %b" % b"3".rjust(digits, b"0")) + b"abc") == [Refusal(400)]


def test_an_upgrade_is_ignored_and_the_next_request_is_http():
    first, second = read(a_request("Connection: Upgrade", "Upgrade: websocket") + a_request(target="/next"))

    assert (first.lines[-1], first.keep_alive) == ((b"Upgrade", b"websocket"), True)
    assert (second.target, second.lines) == (b"/next", [(b"Host", b"gatewall")])


TOO_MUCH = {
    "request line": (a_request(target="/" + "a" * http1.MAX_REQUEST_LINE), 414),
    "request line without end": (b"GET /" + b"a" * http1.MAX_REQUEST_LINE, 414),
    "field": (a_request("A: " + "a" * http1.MAX_FIELD), 431),
    "fields": (a_request(*["A: a"] * http1.MAX_FIELDS), 431),  # and Host
    "head": (a_request(*["A: " + "a" * 30_000] * 5), 431),
    "head without end": (a_request(*["A: " + "a" * 30_000] * 5)[:-4], 431),
}


@pytest.mark.parametrize(("data", "status"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_head_over_a_bound_is_refused(data, status):
    assert read(data) == [Refusal(status)]
    assert read(*split(data, range(0, len(data), 997))) == [Refusal(status)]


def test_a_head_at_the_bounds_is_read():
    target = "/" + "a" * (http1.MAX_REQUEST_LINE - len("GET / HTTP/1.1\r\n"))
    lines = ["A: " + "a" * (http1.MAX_FIELD - 1), *["B: b"] * (http1.MAX_FIELDS - 2)]

    (only,) = read(a_request(*lines, target=target))

    assert (len(only.target), len(only.lines)) == (len(target), http1.MAX_FIELDS)


def test_a_body_comes_with_the_request():
    body = b"GET /inside HTTP/1.1\r\n\r\n"
    first, second = read(a_request(f"Content-Length: {len(body)}", body=body) + a_request(target="/next"))

    assert (first.body, first.keep_alive) == (Body(body, ended=True), True)
    assert (second.target, second.body) == (b"/next", None)


def test_bytes_after_chunks_are_no_request():
    data = a_request(CHUNKED, body=b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")

    for behind in (b"", a_request(target="/behind"), b"\0garbage"):
        assert [(one.body, one.keep_alive) for one in read(data + behind)] == [(Body(b"abcde", ended=True), False)]


@pytest.mark.parametrize("lines", [[f"Content-Length: {READ_AT_MOST * 3}"], [CHUNKED]], ids=["length", "chunks"])
def test_a_long_body_is_read_up_to_the_inspected_size(lines):
    body = b"a" * READ_AT_MOST * 3
    sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if lines == [CHUNKED] else body

    (only,) = read(*split(a_request(*lines, body=sent), range(0, len(sent), 65_536)))

    assert only.body == Body(body[:READ_AT_MOST], ended=False)
    assert not only.keep_alive


def test_a_late_body_is_truncated():
    reader = RequestReader(bodies.bounds)
    reader.feed(a_request("Content-Length: 9", body=b"abc"))

    assert reader.next() is None
    assert reader.phase is Phase.BODY
    assert reader.cut()[3:5] == (Body(b"abc", ended=False), False)


def test_a_client_waits_for_100_continue_until_its_body_comes():
    reader = RequestReader(bodies.bounds)
    reader.feed(a_request("Expect: 100-Continue", "Content-Length: 3"))

    assert (reader.next(), reader.wants_continue) == (None, True)
    reader.feed(b"abc")
    assert reader.next().body == Body(b"abc", ended=True)
    assert not reader.wants_continue


def test_unknown_expectations_are_refused():
    assert read(a_request("Expect: a-wonder", "Content-Length: 3", body=b"abc")) == [Refusal(417)]


GOOD = [
    a_request(),
    a_request("X-A: 1", "X-A: 2 ", "x_b: \xff", method="HEAD", target="/wall/auth/envoy/a?b=%20"),
    a_request("Content-Length: 11", method="POST", body=b"abc\r\n\r\nGET "),
    a_request("Content-Length: 0"),
    a_request("Connection: Upgrade", "Upgrade: websocket"),
    a_request(CHUNKED, method="PUT", body=b"1\r\na\r\n0a;x=1\r\n0123456789\r\n0\r\n\r\n"),
    a_request("Connection: close"),
    b"GET /old HTTP/1.0\r\n\r\n",
]


@pytest.mark.parametrize("data", [*GOOD, GOOD[0] + GOOD[2] + GOOD[1], GOOD[4] + GOOD[5] + GOOD[0]])
def test_requests_are_parsed_alike_in_any_pieces(data):
    whole = read(data)

    assert whole
    assert read(*bytewise(data)) == whole
    for at in range(len(data)):
        assert read(*split(data, [at])) == whole


def test_damaged_requests_are_parsed_alike_in_any_pieces():
    rng = random.Random(20261122)  # noqa: S311 - repeatable, not secret
    seeds = [*GOOD, *[data for name, data in MALFORMED.items() if "extension" not in name]]
    signs = [
        b"\r",
        b"\n",
        b"\r\n",
        b"\0",
        b" ",
        b"\t",
        b":",
        b"0",
        b";",
        b"\xff",
        b"Content-Length: 2\r\n",
        b"\r\n\r\n",
    ]
    for _ in range(4000):
        data = b"".join(rng.choices(seeds, k=rng.randint(1, 3)))
        for _ in range(rng.randint(0, 3)):
            at, gone = rng.randrange(len(data)), rng.randint(0, 2)
            data = data[:at] + rng.choice([*signs, b""]) + data[at + gone :]
        whole = read(data)
        assert read(*bytewise(data)) == whole, data
        assert read(*split(data, rng.sample(range(len(data)), min(5, len(data) - 1)))) == whole, data
