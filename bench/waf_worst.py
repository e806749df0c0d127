"""Requests of the greatest size, made of the content that costs the WAF most to read, decode or scan."""

import json
from base64 import b64encode
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from gatewall.engine.model import AccessRequest
from gatewall.engine.waf.judge import request_of

_WORDS = "union select ' or 1=1 <script>alert(1) ../../etc/passwd ;cat "
_UNITS = {"escapes": "\\u003c", "entities": "&#60;", "comments": "/**/", "attack words": _WORDS}
_VALUES = {
    "attacks": "' or 1=1 --",
    "near misses": "';ca /etc/passw <scrip unio selec",
    "escapes": "\\u003cscript",
    "entities": "&#60;b&#62;",
    "base64": b64encode(b'{"a":"%27 or 1=1"}').decode(),
    "words": "some ordinary words",
}
_BEGINNINGS = {"a data URL": "data: ", "a path": ":/a", "a command": "id ", "a union": "union ", "a condition": "or "}
"""Beginnings of matches: hyperscan tries the rest of the rule at each of thousands, 70 to 140 ns each."""
_SIZE = 65_000
_FORM = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data; boundary=b"
_PART = '--b\r\nContent-Disposition: form-data; name="a"'


def worst_requests(browser: dict[str, str]) -> dict[str, AccessRequest]:
    """Return the requests by name; ``browser`` are the headers that each has besides its own."""
    found: dict[str, AccessRequest] = {}
    for name, unit in _UNITS.items():
        body = '{"a":"' + (unit.replace("\\", "\\\\") * 65_536)[:65_500] + '"}'
        found[f"64 KiB of JSON, {name}"] = _post(browser, "application/json", body)
        found[f"64 KiB of text, {name}"] = _post(browser, "text/plain", (unit * 65_536)[:_SIZE])
        found[f"15 KiB of URI, {name}"] = _request("/?a=" + (unit * 15_000)[:15_000], browser)
        headers = {f"X-A{number}": (unit * 8_000)[:7_900] for number in range(7)}
        found[f"55 KiB of headers, {name}"] = _request("/", browser | headers)
        many = {f"X-A{number}": (unit * 50)[:50] for number in range(1000)}
        found[f"1,000 headers, {name}"] = _request("/", browser | many)
    for name, unit in _VALUES.items():
        found |= {f"{kind}, {name}": request for kind, request in _of_many_values(browser, unit).items()}
    for name, unit in _BEGINNINGS.items():
        found[f"beginnings of {name}"] = _post(browser, "text/plain", "x " + unit * (_SIZE // len(unit)))
    return found | _odd(browser) | _small_pieces(browser)


def _of_many_values(browser: dict[str, str], unit: str) -> dict[str, AccessRequest]:
    strings = ",".join([json.dumps(unit + str(number)) for number in range(_SIZE // (len(unit) + 8))])
    part, file = (f"{_PART}{more}\r\n\r\n{unit}\r\n" for more in ("", '; filename="x.php"'))
    element = f"<a b={quoteattr(unit)}>{escape(unit)}</a>"
    form = "&".join([f"a={quote(unit)}"] * 4_000)
    nested = unit
    for _ in range(10):
        nested = quote(nested)
    return {
        "list of JSON strings": _post(browser, "application/json", f"[{strings[:_SIZE].rpartition(',')[0]}]"),
        "multipart of many fields": _post(browser, _MULTIPART, part * (_SIZE // len(part)) + "--b--\r\n"),
        "multipart of many files": _post(browser, _MULTIPART, file * (_SIZE // len(file)) + "--b--\r\n"),
        "XML of many elements": _post(browser, "text/xml", f"<r>{element * (_SIZE // len(element))}</r>"),
        "form of many arguments": _post(browser, _FORM, form[:_SIZE]),
        "many arguments": _request(f"/?{form[:15_000]}", browser),
        "many cookies": _request("/", browser | {"Cookie": "; ".join([f"a={unit.replace(';', '')}"] * 256)}),
        "lines of text": _post(browser, "text/plain", f"{unit}\n" * (_SIZE // len(unit))),
        "ten nested encodings": _post(browser, _FORM, ("a=" + nested * 1_000)[:_SIZE]),
    }


def _odd(browser: dict[str, str]) -> dict[str, AccessRequest]:
    types = f"{_FORM},application/json,text/xml,{_MULTIPART}," + ",".join([f"a/b{each}" for each in range(40)])
    coded = f"{_PART}\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    return _mixed(browser) | {
        "45 media types": _post(browser, types, '{"a":"' + "' or 1=1 &" * 6_000),
        "text in UTF-7": _post(browser, "text/plain; charset=utf-7", "+ADw-script+AD4-" * 4_000),
        "nested JSON": _post(browser, "application/json", "[" * 30_000 + "]" * 30_000),
        "numbers of JSON": _post(browser, "application/json", "[" + "1," * 32_000 + "1]"),
        "objects of JSON": _post(browser, "application/json", "[" + "{}," * 20_000 + "{}]"),
        "names of JSON": _post(
            browser, "application/json", str({f"a b {n}": 1 for n in range(4_000)}).replace("'", '"')
        ),
        "quoted-printable": _post(browser, _MULTIPART, coded + "=3Cscript" * 7_000 + "\r\n--b--\r\n"),
        "boundaries alone": _post(browser, _MULTIPART, "--b\r\n" * 13_000),
        "invalid UTF-8": _post(browser, "application/json", '{"a":"' + "\xff\xfe'" * 21_000 + '"}'),
        "full-width letters": _post(browser, "application/json", '{"a":"' + "\xef\xbc\x9c" * 21_000 + '"}'),
        "binary": _post(browser, "application/octet-stream", "".join(map(chr, range(256))) * 255),
    }


def _mixed(browser: dict[str, str]) -> dict[str, AccessRequest]:
    """Return requests that avoid the optimizations: early ends, decoders in C, heads like those of browsers."""
    misses, attack = _VALUES["near misses"], _VALUES["attacks"]
    elements_in_value = "<a b='x y z &#60;'>some text &#60;script</a>" * 30
    markup = f"<r>{elements_in_value}</r>"
    lines = "some text &#60;script \n" * 50
    head = _PART.replace('name="a"', 'name="a"; x=y')
    elements = f"<a>{escape(misses)}\xc3\xa9&#60;</a>" * (_SIZE // 60)
    escaped = json.dumps(f'"{misses}\\ \u2028') + ","
    coded = b64encode((misses * 1_400).encode()).decode()
    return {
        "attacks behind words": _post(browser, "text/plain", ("some words \n" * 4_000 + _WORDS * 500)[:_SIZE]),
        "escapes, one malformed": _post(browser, _FORM, "a=" + "%26%2360%3B" * 2_900 + "%zz" + "%26%2360%3B" * 2_900),
        "markup in arguments": _post(browser, _FORM, "&".join([f"a={quote(markup)}"] * 40)[:_SIZE]),
        "markup in JSON": _post(browser, "application/json", json.dumps([markup] * 40)[:_SIZE]),
        "malformed escapes": _post(browser, _FORM, "a=" + ("%25252527%zz" * 6_000)[:_SIZE]),
        "malformed arguments": _post(browser, _FORM, ("a=%2527%zz%u0027" + attack + "&") * 2_000),
        "base64 of near misses": _post(browser, "text/plain", coded[:_SIZE]),
        "argument in base64": _post(browser, _FORM, f"a={coded}"[:_SIZE]),
        "escaped quotes of JSON": _post(browser, "application/json", f"[{escaped * (_SIZE // len(escaped))}1]"),
        "invalid escapes of JSON": _post(browser, "application/json", f'["{misses}\\q {attack}\\"' * 1_200),
        "XML in Shift_JIS": _post(browser, "text/xml", _in_shift_jis(misses)),
        "wide escapes": _post(browser, _FORM, ("a=" + f"%u4e2d%u003c{quote(misses)}%U0027" * 1_500)[:_SIZE]),
        "lines in arguments": _post(browser, _FORM, "&".join([f"a={quote(lines)}"] * 40)[:_SIZE]),
        "XML that is not ASCII": _post(browser, "text/xml", f"<r>{elements[:_SIZE]}"),
        "parts with unusual heads": _post(browser, _MULTIPART, f"{head}\r\n\r\n{misses}\r\n" * 900),
        "20 large parts": _post(browser, _MULTIPART, f"{_PART}\r\n\r\n{misses * 90}\r\n" * 20 + "--b--\r\n"),
    }


def _small_pieces(browser: dict[str, str]) -> dict[str, AccessRequest]:
    """Return requests of very many pieces of a few characters, each of which may cost some Python code."""
    coded = f"{_PART}\r\nContent-Type: text/plain; charset=utf-7"
    every_byte = "".join([f"\\u{code:04x}" for code in range(256)])
    strings = json.dumps(["a b"] * 60)
    texts = b64encode(f"<r>{'<a>x y</a>' * 60}</r>".encode()).decode()
    attributes = " ".join([f'a{number}="x y"' for number in range(5_500)])
    controls = "".join([f"aaaaaaa{chr(1 + number % 8)}" for number in range(8_000)])
    return _small_pieces_of_xml(browser, attributes) | {
        "backslashes of JSON": _post(browser, "application/json", '{"a":"' + "\\\\" * 32_000 + '"}'),
        "short escapes of JSON": _post(browser, "application/json", '{"a":"' + "\\n" * 32_000 + '"}'),
        "JSON escapes of every byte": _post(browser, "application/json", '{"a":"' + every_byte * 42 + '"}'),
        "objects in lines of JSON": _post(browser, "application/json", "[" + "{}," * 20_000 + "{}]\n{}"),
        "long name of malformed escapes": _post(browser, _FORM, "%zz" * 21_000),
        "blank lines of JSON": _post(browser, "application/json", "{" + "\n" * _SIZE),
        "JSON in arguments": _post(browser, _FORM, "&".join([f"a={quote(strings)}"] * 40)),
        "JSON in arguments of a URI": _request("/?" + "&".join([f"a={quote(strings)}"] * 40)[:16_000], browser),
        "JSON in cookies": _request("/", browser | {"Cookie": "; ".join([f"a={quote(strings)}"] * 40)}),
        "JSON in JSON": _post(browser, "application/json", json.dumps([strings] * 60)),
        "XML in base64": _post(browser, _FORM, "&".join([f"a={texts}"] * 40)),
        "lines in heads of parts": _post(browser, _MULTIPART, (f"{_PART}\r\n" + "x:y z\r\n" * 280 + "\r\nx\r\n") * 20),
        "UTF-16 of lone surrogates": _post(browser, "text/xml", "\xff\xfe<\0" + "\0\xdc" * 32_000),
        "UTF-32 of no characters": _post(browser, "text/xml", "\xff\xfe\0\0<\0\0\0" + "\0\0\0\xff" * 16_000),
        "invalid UTF-7": _post(browser, "text/plain; charset=utf-7", "+\xff" * 32_000),
        "part in invalid UTF-7": _post(browser, _MULTIPART, f"{coded}\r\n\r\n" + "+\xff" * 32_000 + "\r\n--b--\r\n"),
        "part in UTF-7 of letters": _post(
            browser, _MULTIPART, f"{coded}\r\n\r\n" + "+AGE-" * 13_000 + "+A \r\n--b--\r\n"
        ),
        "invalid UTF-7 of two types": _post(
            browser, "a/b; charset=utf-7,text/plain; charset=utf-7", "+\xff%41" * 13_000
        ),
        "lines of headers": _post(browser, "text/plain", "1:\x0c" * 21_000),
        "arguments of wide escapes": _request("/?" + "&".join(["a=" + "%u0127" * 60] * 40), browser),
        "runs of a file": _post(browser, "application/octet-stream", ("a" * 24 + "\0") * 2_600),
        "runs of packed bytes": _post(browser, "text/plain", controls),
    }


def _small_pieces_of_xml(browser: dict[str, str], attributes: str) -> dict[str, AccessRequest]:
    return {
        "comments of XML": _post(browser, "text/xml", f"<r>{'<!--x y-->' * 6_500}</r>"),
        "instructions of XML": _post(browser, "text/xml", f"<r>{'<?a b c?>' * 7_200}</r>"),
        "comments of a letter in XML": _post(browser, "text/xml", f"<r>{'<!--x-->' * 8_000}</r>"),
        "unfinished instruction of XML": _post(browser, "text/xml", "<r>" + "<?a=" * 16_000),
        "attributes of XML": _post(browser, "text/xml", f"<r {attributes}/>"),
        "texts behind ends in XML": _post(browser, "text/xml", f"<r>{'<a>' * 250}{'</a>x y ;z' * 250}</r>"),
    }


def _in_shift_jis(text: str) -> str:
    elements = f"<a>\u65e5\u672c{escape(text)}</a>" * (_SIZE // 50)
    data = f'<?xml version="1.0" encoding="Shift_JIS"?><r>{elements}'.encode("shift_jis")
    return data[:_SIZE].decode("latin-1")


def _post(browser: dict[str, str], media_type: str, body: str) -> AccessRequest:
    return _request("/api", browser | {"Content-Type": media_type}, body)


def _request(uri: str, headers: dict[str, str], body: str | None = None) -> AccessRequest:
    lines = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    method = b"POST" if body else b"GET"
    return request_of(method, uri.encode("latin-1"), lines, body.encode("latin-1")[:65_536] if body else None)
