"""An attack behind harmless padding in a body is found: the whole body that the proxy passes on is inspected."""

import json
from urllib.parse import quote
from xml.sax.saxutils import escape

import pytest

from gatewall.engine.waf.judge import Judge
from gatewall.engine.waf.rules import BodyRegion
from gatewall.engine.waf.values import MAX_TEXT, Values

JUDGE = Judge(None)
KIB = 1024
ATTACKS = ["1' UNION SELECT password FROM users--", "<script>alert(1)</script>", "../../../../etc/passwd"]
WORDS = "some ordinary words of a report about the weather in the north, "
BOUNDARY = "multipart/form-data; boundary=b"
FORM = "application/x-www-form-urlencoded"


def words(size):
    return (WORDS * (size // len(WORDS) + 1))[:size]


def pieces(size, each=44):
    return [words(40)] * (size // each)


def escaped(text):
    return "".join([f"\\u{ord(each):04x}" for each in text])


def referenced(text):
    return "".join([f"&#{ord(each)};" for each in text])


def part(name, text):
    return f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'


BODIES = {
    "JSON, one string": lambda size, attack: (
        "application/json",
        json.dumps({"a": words(size), "b": attack}),
    ),
    "JSON, one string with escapes": lambda size, attack: (
        "application/json",
        json.dumps({"a": "\u00e4" * (size // 6)})[:-1] + f',"b":"{escaped(attack)}"}}',
    ),
    "JSON, many strings": lambda size, attack: (
        "application/json",
        json.dumps([*pieces(size), attack]),
    ),
    "JSON, many strings, escaped attack": lambda size, attack: (
        "application/json",
        json.dumps(pieces(size))[:-1] + ',"' + escaped(attack) + '"]',
    ),
    "JSON, very many members": lambda size, attack: (
        "application/json",
        json.dumps([{"a": 1}] * (size // 10))[:-1] + "," + json.dumps(attack) + "]",
    ),
    "form, one argument": lambda size, attack: (FORM, f"a={quote(words(size))[:size]}&b={quote(attack)}"),
    "form, many arguments": lambda size, attack: (
        FORM,
        "&".join([*[f"a{n}={quote(each)}"[:60] for n, each in enumerate(pieces(size, 61))], f"b={quote(attack)}"]),
    ),
    "multipart, one field": lambda size, attack: (BOUNDARY, part("a", words(size)) + part("b", attack) + "--b--\r\n"),
    "multipart, many fields": lambda size, attack: (
        BOUNDARY,
        "".join([part(f"a{n}", words(40)) for n in range(size // 100)]) + part("b", attack) + "--b--\r\n",
    ),
    "XML, one text": lambda size, attack: ("text/xml", f"<r><a>{words(size)}</a><b>{escape(attack)}</b></r>"),
    "XML, many texts": lambda size, attack: (
        "text/xml",
        f"<r>{''.join([f'<a>{each}</a>' for each in pieces(size, 47)])}<b>{escape(attack)}</b></r>",
    ),
    "XML, many texts, numeric references": lambda size, attack: (
        "text/xml",
        f"<r>{''.join([f'<a>{each}</a>' for each in pieces(size, 47)])}<b>{referenced(attack)}</b></r>",
    ),
}


@pytest.mark.parametrize("kib", [20, 40, 60])
@pytest.mark.parametrize("kind", BODIES)
def test_attack_behind_harmless_padding_in_a_body_is_refused(kind, kib):
    for attack in ATTACKS:
        media_type, body = BODIES[kind](kib * KIB, attack)
        assert kib * KIB * 0.9 < len(body) <= 64 * KIB

        assert JUDGE(b"POST", b"/", [(b"content-type", media_type.encode())], body.encode()), attack


@pytest.mark.parametrize("kib", [20, 60])
@pytest.mark.parametrize("kind", BODIES)
def test_harmless_padding_alone_is_let_in(kind, kib):
    media_type, body = BODIES[kind](kib * KIB, "some words")

    assert not JUDGE(b"POST", b"/", [(b"content-type", media_type.encode())], body.encode())


@pytest.mark.parametrize("broken", [1, 3])
@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        (
            "application/json",
            lambda broken, attack: f'{json.dumps(pieces(8000))[:-1]},"{broken}",{json.dumps(attack)}]',
        ),
        ("text/xml", lambda sign, attack: f"<r>{'<a>words</a>' * 400}<b>{sign}{escape(attack)}</b></r>"),
    ],
)
def test_attack_behind_escapes_that_mean_nothing_is_refused(media_type, body, broken):
    sign = "\\x" if "json" in media_type else "&nothing;"
    for attack in ATTACKS:
        sent = body(sign * broken, attack).encode()
        assert JUDGE(b"POST", b"/", [(b"content-type", media_type.encode())], sent), attack


def test_reference_behind_thousands_of_others_is_read_as_sent():
    sent = f"<r>{'<a>words</a>' * 400}<b>{'&#101;' * 5_000}{escape(ATTACKS[0])}</b></r>".encode()

    assert JUDGE(b"POST", b"/", [(b"content-type", b"text/xml")], sent)


def test_texts_end_at_their_bound_with_a_note():
    values = Values()
    for _ in range(3):
        values.put(BodyRegion.TEXT, None, "x" * (MAX_TEXT // 2))

    assert sum(len(text) for region, _, text in values if region is BodyRegion.TEXT) == MAX_TEXT
    assert values[-1] != (BodyRegion.TEXT, None, "x" * (MAX_TEXT // 2))
    assert any("rest" in text for region, _, text in values if region is not BodyRegion.TEXT)
