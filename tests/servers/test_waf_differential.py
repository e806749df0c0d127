"""The WAF corpora, decided by both planes over HTTP and in this process: the same refusals by the same rules."""

import base64
import gzip
import http.client
import json
import re
import zlib
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest

from gatewall.engine.waf import vector
from gatewall.engine.waf.judge import COMPILED_NOW, Judge, builtin_rules, request_of
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.reading import MAX_BODY
from gatewall.engine.waf.rules import THRESHOLD
from gatewall.install.ports import free_port
from tests.corpora import mixed
from tests.corpora.applications import requests as of_applications
from tests.corpora.evasions.table import rows
from tests.support.form import by_form
from tests.support.patterns import scanner_of
from tests.support.processes import PATIENCE, api, control_plane, data_plane, prepare, wait_until
from tests.support.servers import ATTACK, OFFICE, about, ask
from tests.support.spool_files import read

CORPORA = Path(__file__).parents[1] / "corpora"
CLIENT = "198.51.100.9"
SAMPLED = 40
"""One request in this many is sent in the normal form."""
_OF_THE_CONNECTION = {
    "connection", "transfer-encoding", "content-length", "expect", "upgrade", "te", "keep-alive", "host", "trailer",
    "proxy-connection",
}  # fmt: skip
_OF_PROXIES = ("x-forwarded", "x-gatewall", "forwarded")
_SENDABLE = re.compile(r"[\x21-\x7e\x80-\xff]+")

NOTED = {"protocol-not-inspected", "protocol-too-long"}
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
PARTS = "multipart/form-data; boundary=b"
NO_UTF_8 = bytes(range(128, 256)) + b"\xc3\x28\xed\xa0\x80\xff\xfe"
ODD = NO_UTF_8[32:].decode("latin-1")


def posted(body, kind, uri="/", **headers):
    return (
        {"Content-Type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}},
        "POST",
        uri,
        body,
    )


def ten_times(encode, text="<script>alert(1)</script>"):
    for _ in range(10):
        text = encode(text)
    return text


PACKED = gzip.compress(b"a=" + b"<b>x</b> " * 2_000)
BAD = {
    "a bomb": posted(gzip.compress(bytes(10**8))[:MAX_BODY], FORM, Content_Encoding="gzip"),
    "a bomb that is JSON": posted(gzip.compress(b"[" * 10**7), JSON, Content_Encoding="gzip"),
    "a bomb in a bomb": posted(gzip.compress(gzip.compress(bytes(10**8))), FORM, Content_Encoding="gzip, gzip"),
    "a bomb of deflate": posted(zlib.compress(bytes(10**7)), "text/xml", Content_Encoding="deflate"),
    "a packed body that stops half-way": posted(PACKED[: len(PACKED) // 2], FORM, Content_Encoding="gzip"),
    "a packed body that is none": posted(b"a=1", FORM, Content_Encoding="gzip"),
    "JSON that stops half-way": posted(b'{"a": "' + b"x y " * 9_000, JSON),
    "parts that stop half-way": posted(
        b'--b\r\nContent-Disposition: form-data; name="a', "multipart/form-data; boundary=b"
    ),
    "ten layers of percent": posted(b"", FORM, "/?a=" + ten_times(lambda text: quote(text, safe=""))),
    "ten layers of base64": posted(
        json.dumps({"a": ten_times(lambda text: base64.b64encode(text.encode()).decode())}).encode(), JSON
    ),
    "ten layers of JSON": posted(ten_times(lambda text: json.dumps([text])).encode(), JSON),
    "10,000 header names": posted(b"", FORM, **{f"X-{number}": "some text" for number in range(10_000)}),
    "as many cookies as a head holds": posted(b"", FORM, Cookie="; ".join(f"n{number}=1" for number in range(2_500))),
    "as many arguments as a head holds": posted(b"", FORM, "/?" + "&".join(f"n{n}=a%20b" for n in range(600))),
    "10,000 names of cookies": posted(b"", FORM, Cookie="; ".join(f"n{number}=1" for number in range(10_000))),
    "10,000 arguments": posted(b"", FORM, "/?" + "&".join(f"n{number}=a%20b" for number in range(10_000))),
    "10,000 fields": posted("&".join(f"n{number}=1" for number in range(8_000)).encode(), FORM),
    "10,000 names of JSON": posted(json.dumps({f"n {number}": 1 for number in range(4_500)}).encode(), JSON),
    **{
        f"invalid UTF-8 as {kind}": posted(NO_UTF_8 * 9, kind, f"/{ODD}?{ODD}={ODD}", Cookie=f"{ODD}={ODD}", X_Odd=ODD)
        for kind in (FORM, JSON, "text/xml", PARTS, "text/plain; charset=utf-16")
    },
}

BEYOND_A_HEAD = {"10,000 names of cookies", "10,000 arguments"}


def corpora():
    """Yield every request of our own corpora as a line of `gatewall waf rates`."""
    for path in sorted(CORPORA.glob("*.jsonl.gz")):
        yield from map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    yield from of_applications()
    yield from mixed.sample(8_000)
    for row in rows():
        body = row.body.decode("latin-1")
        if not row.coding:  # in this process nothing unpacks it
            yield {"id": row.name, "method": "POST", "uri": "/", "headers": {"Content-Type": row.kind}, "body": body}


def sent_of(item):
    """Return a request as a proxy sends it: headers of the visitor, method, URI, body; None if no proxy can."""
    headers = {
        name: value
        for name, value in item["headers"].items()
        if name.lower() not in _OF_THE_CONNECTION
        and not name.lower().startswith(("x-forwarded", "x-gatewall", "forwarded"))
    }
    texts = [*headers.values(), *headers]
    if not _SENDABLE.fullmatch(item["uri"]) or any("\r" in text or "\n" in text or "\0" in text for text in texts):
        return None
    return headers, item["method"], item["uri"], (item["body"] or "").encode("latin-1")[:MAX_BODY]


@pytest.fixture(scope="module")
def in_process():
    """Return a function that returns the rules matched by the WAF step of this process, and whether it refuses.

    The patterns are shared by the tests of this checkout; compiling them here would take 16 s of CPU.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector, "_compiled", scanner_of)
        return partial(found_by, RuleSet(builtin_rules(), COMPILED_NOW), Judge(COMPILED_NOW))


def found_by(rules, judge, sent):
    headers, method, uri, body = sent
    named = [(name.encode("latin-1"), value.strip(" \t").encode("latin-1")) for name, value in headers.items()]
    host = [(b"host", OFFICE.encode())]
    wire = (method.encode(), uri.encode("latin-1"), [*host, *named], body or None)
    return sorted(rule.name for rule in rules.inspect(request_of(*wire), None, THRESHOLD)), judge(*wire)


class Plane:
    """A connection to a plane for consecutive subrequests of a proxy."""

    def __init__(self, port):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def asked(self, sent):
        """Return the id of the decision and its reason."""
        headers, method, uri, body = sent
        connection = self._connection
        question = about(client=CLIENT, host=OFFICE, uri=uri) | {"X-Forwarded-Method": method}
        connection.putrequest("GET", "/wall/auth/forward", skip_accept_encoding=True)
        for name, value in [*question.items(), *headers.items()]:
            connection.putheader(name.encode("latin-1"), value.encode("latin-1"))
        if body:
            connection.putheader("Content-Length", str(len(body)))
        with suppress(BrokenPipeError, ConnectionResetError):  # a server may answer before it has read all
            connection.endheaders(body or None)
        response = connection.getresponse()
        response.read()
        return response.headers.get("X-Gatewall-Decision-Id"), response.headers.get("X-Gatewall-Reason")

    def close(self):
        self._connection.close()


@pytest.fixture(scope="module")
def planes(tmp_path_factory):
    home, control, data = tmp_path_factory.mktemp("home"), free_port(), free_port()
    prepare(home)
    with control_plane(home, control, GATEWALL_WORKERS="1"), data_plane(home, data, GATEWALL_WORKERS="1"):
        api(control, "/ip-white-list", ip=CLIENT, inspect=True)
        for port in (control, data):
            refused = about(client=CLIENT, uri=ATTACK)
            wait_until(lambda port=port, asked=refused: ask(port, asked) == (403, "waf-rule"), what="the policy")
        yield home, {"control": control, "data": data}


@pytest.mark.parametrize("each", [by_form(full=1, default=SAMPLED)])
def test_both_planes_find_the_same_rules_as_this_process(planes, in_process, each):
    home, ports = planes
    items = list(corpora())[::each]
    sendable = {item["id"]: sent for item in items if (sent := sent_of(item)) is not None}
    expected = {name: in_process(sent) for name, sent in sendable.items()}
    given = {}
    for plane, port in ports.items():
        proxy = Plane(port)
        given |= {(plane, name): proxy.asked(sent) for name, sent in sendable.items()}
        proxy.close()
    found = rules_by_decision(home)
    undecided = {key for key, (decision, _) in given.items() if decision is None}
    given = {key: made for key, made in given.items() if key not in undecided}

    assert {name for plane, name in undecided if plane == "data"} == {
        name for plane, name in undecided if plane != "data"
    }
    assert len(undecided) < 0.01 * len(given), sorted(undecided)[:5]
    assert len(sendable) > 0.95 * len(items) > 500
    assert {key: found[made[0]] for key, made in given.items() if found[made[0]] != expected[key[1]][0]} == {}
    assert [key for key, (_, reason) in given.items() if (reason == "waf-rule") != expected[key[1]][1]] == []
    assert 0.2 < sum(reason == "waf-rule" for _, reason in given.values()) / len(given) < 0.8


@pytest.mark.parametrize("what", BAD)
def test_bad_input_has_the_same_answer_on_both_planes_and_is_noted(planes, what):
    home, ports = planes
    found = {}
    for plane, port in ports.items():
        proxy = Plane(port)
        decision, reason = proxy.asked(BAD[what])
        proxy.close()
        found[plane] = (reason, rules_by_decision(home).get(decision, []))
        assert ask(port, about(client=CLIENT)) == (200, "client-allowed")

    assert found["control"] == found["data"]
    reason, rules = found["data"]
    if what in BEYOND_A_HEAD:
        assert (reason, rules) == (None, [])  # refused by the server, without a decision
    else:
        assert NOTED & set(rules) or reason == "waf-rule" or what.startswith(("10,000 header", "invalid UTF-8"))


def rules_by_decision(home):
    """Return the names of the rules that matched, by the id of the decision."""
    return {record.decision_id: sorted(rule["name"] for rule in record.rules) for record in read(home / "spool")}
