"""Bodies that a proxy shows: how much is read, content codings, and text in files."""

import gzip
import os
import zlib

import pytest

from gatewall.engine.waf.body.texts import readable
from gatewall.engine.waf.reading import MAX_BODY
from gatewall.gate import bodies, subrequest
from gatewall.gate.bodies import Body
from gatewall.gate.subrequest import Subrequest
from tests.support.cast import NOW, PROXY, TRUSTED
from tests.unit.dialects import TONGUES

TEXT = b"q=" + b"x" * 500


@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        ({}, False),
        ({"content-length": "0"}, False),
        ({"content-length": "7"}, True),
        ({"transfer-encoding": "chunked"}, True),
    ],
)
def test_a_body_is_read_if_the_headers_announce_one(headers, sent):
    assert bodies.is_sent(headers) is sent


@pytest.mark.parametrize(
    ("size", "headers", "ended", "expected"),
    [
        (7, {"content-length": "7"}, True, Body(b"x" * 7)),
        (7, {"transfer-encoding": "chunked"}, True, Body(b"x" * 7)),
        (MAX_BODY, {"content-length": str(MAX_BODY)}, True, Body(b"x" * MAX_BODY)),
        (0, {"transfer-encoding": "chunked"}, True, None),
        (7, {"content-length": "8"}, True, Body(b"x" * 7, whole=False)),
        (7, {"content-length": "07"}, True, Body(b"x" * 7, whole=False)),
        (0, {"content-length": "8"}, True, Body(b"", whole=False)),
        (7, {"transfer-encoding": "chunked"}, False, Body(b"x" * 7, whole=False)),
        (MAX_BODY + 1, {"content-length": str(MAX_BODY + 1)}, True, Body(b"x" * MAX_BODY, whole=False)),
        (MAX_BODY + 1, {"transfer-encoding": "chunked"}, False, Body(b"x" * MAX_BODY, whole=False)),
    ],
)
def test_a_read_body_states_whether_it_is_whole(size, headers, ended, expected):
    assert bodies.of_read(b"x" * size, headers, ended=ended) == expected


@pytest.mark.parametrize(
    ("packed", "coding", "expected"),
    [
        (Body(TEXT), "", Body(TEXT)),
        (Body(TEXT), " Identity,", Body(TEXT)),
        (Body(gzip.compress(TEXT)), "GZIP", Body(TEXT)),
        (Body(gzip.compress(TEXT)), "x-gzip", Body(TEXT)),
        (Body(zlib.compress(TEXT)), "deflate", Body(TEXT)),
        (Body(gzip.compress(TEXT), whole=False), "gzip", Body(TEXT, whole=False)),
        (Body(gzip.compress(TEXT)[:-4]), "gzip", Body(TEXT, whole=False)),
        (Body(gzip.compress(TEXT) + b"more"), "gzip", Body(TEXT, whole=False)),
        (Body(TEXT), "gzip", Body(TEXT, whole=False)),
        (Body(TEXT), "br", Body(TEXT, whole=False)),
        (Body(gzip.compress(gzip.compress(TEXT))), "gzip, gzip", Body(gzip.compress(gzip.compress(TEXT)), whole=False)),
        (Body(gzip.compress(b"x" * MAX_BODY)), "gzip", Body(b"x" * MAX_BODY)),
        (Body(gzip.compress(b"x" * (MAX_BODY + 1))), "gzip", Body(b"x" * MAX_BODY, whole=False)),
        (Body(gzip.compress(bytes(10**8))[:MAX_BODY]), "gzip", Body(bytes(MAX_BODY), whole=False)),
    ],
)
def test_a_packed_body_is_seen_as_the_site_reads_it(packed, coding, expected):
    assert bodies.unpacked(packed, coding) == expected


def test_a_body_is_not_printed():
    body = Body(b"password=hunter2")
    request = subrequest.forward(Subrequest(PROXY, "http", {}, body=body), TRUSTED, NOW)

    assert "hunter2" not in repr((body, request, Subrequest(PROXY, "http", {}, body=body)))


@pytest.mark.parametrize("dialect", ["forward", "envoy"])
def test_body_is_a_visible_part_of_the_request(dialect):
    tongue = TONGUES[dialect]
    parts = tongue.write("1.2.3.4", "office.example", "https", "POST", "/")

    def ask(body, **headers):
        sent = Subrequest(
            PROXY, "http", parts["headers"] | headers, parts.get("method", "GET"), parts.get("target", "/"), body
        )
        return tongue.parse(sent, TRUSTED, NOW)

    shown, none = ask(Body(b"a=1")), ask(None)
    assert (shown.body, shown.body_is_whole, shown.visible - none.visible) == (b"a=1", True, {"body"})
    assert (none.body, none.body_is_whole) == (None, True)
    assert ask(Body(b"a=1", whole=False)).body_is_whole is False
    assert ask(Body(gzip.compress(b"a=1")), **{"content-encoding": "gzip"}).body == b"a=1"
    assert ask(Body(b"a=1"), **{"content-encoding": "gzip\nbr"}).body_is_whole is False
    assert ask(Body(b"a=1"), **{"x-envoy-auth-partial-body": "true"}).body_is_whole is False
    assert ask(Body(b"a=1"), **{"x-envoy-auth-partial-body": "false"}).body_is_whole is True


# Text in files.


def test_long_runs_of_text_in_binary_files_are_read():
    shell = "<?php system($_GET['c']); ?>"

    assert readable(f"\x00{shell}\x01{'y' * 23}\xff{'z' * 24}\x7f") == f"{shell}\x02{'z' * 24}"


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("\xff" + "z" * 24, "z" * 24),
        ("z" * 24 + "\xff", "z" * 24 + "\xff"),
        ("z" * 24 + "\xffabc", "z" * 24),
        ("\xff" + "y" * 12 + "\t" + "z" * 11, "y" * 12 + "\t" + "z" * 11),
        ("\xff" + "y" * 12 + "\n" + "z" * 11, ""),
    ],
)
def test_a_file_is_text_if_it_is_utf_8_up_to_a_character_that_was_cut(content, read):
    assert readable(content) == read


@pytest.mark.parametrize("text", ["", "a\nb", "\u00e9t\u00e9 " * 100])
def test_text_in_utf_8_is_read_whole(text):
    sent = text.encode().decode("latin-1")

    assert readable(sent) == sent


def test_text_may_be_cut_within_a_character():
    for size in range(1, 4):
        text = ("x" * 30 + "\U0001f600").encode()[: 30 + size].decode("latin-1")
        assert readable(text) == text


def test_packed_files_hold_no_text_that_looks_like_an_attack():
    assert readable(zlib.compress(os.urandom(60_000)).decode("latin-1")) == ""
