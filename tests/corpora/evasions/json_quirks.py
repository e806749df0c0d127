"""Quirks of JSON: comments, escapes, names, numbers, depth, sizes, charsets, and media types of bodies that are JSON."""

import json

from tests.corpora.evasions.making import JSON, Made, Make, escaped, json_text


def _bytes(template: bytes, kind: str = JSON) -> Make:
    return lambda payload: Made(kind, template.replace(b"{}", json.dumps(payload).encode()))


def _letters_escaped(text: str) -> str:
    return '"' + "".join(f"\\u{ord(each):04X}" if each.isalpha() else each for each in text) + '"'


def _signs_escaped(text: str) -> str:
    return '"' + "".join(each if each.isalnum() else f"\\u{ord(each):04x}" for each in text) + '"'


def _every_third(text: str) -> str:
    return '"' + "".join(each if at % 3 else f"\\u{ord(each):04x}" for at, each in enumerate(text)) + '"'


JSONS: dict[str, Make] = {
    "a comment": json_text('{/* x */"a":{}}'),
    "a comment to the end of the line": json_text('{// x\n"a":{}}'),
    "a comment with a hash": json_text('{# x\n"a":{}}'),
    "a comment with a quote": json_text('{/* " */"a":{}}'),
    "a comma at the end": json_text('{"a":{},}'),
    "a comma at the end of a list": json_text("[{},]"),
    "two commas": json_text("[1,,{}]"),
    "single quotes": json_text("{'a':{}}", encode=lambda text: "'" + text.replace("'", "\\'") + "'"),
    "a name without quotes in JSON": json_text("{a:{}}"),
    "NaN": json_text('{"n":NaN,"a":{}}'),
    "an infinity": json_text('{"n":-Infinity,"a":{}}'),
    "a negative zero": json_text('{"n":-0,"a":{}}'),
    "a number with a leading zero": json_text('{"n":01,"a":{}}'),
    "a number in hexadecimal": json_text('{"n":0x1,"a":{}}'),
    "a number with a plus": json_text('{"n":+1,"a":{}}'),
    "a number of 20,000 digits": json_text('{"n":' + "9" * 20_000 + ',"a":{}}'),
    "an exponent that is very large": json_text('{"n":1e999999999,"a":{}}'),
    "an escaped single quote": json_text('{"n":"\\\'","a":{}}'),
    "an escape of two digits": json_text('{"n":"\\x41","a":{}}'),
    "an escape that is no escape": json_text('{"n":"\\q","a":{}}'),
    "a raw tab in a string": json_text('{"n":"\t","a":{}}'),
    "a raw line break in a string": json_text('{"n":"x\ny","a":{}}'),
    "a raw NUL in a string": json_text('{"n":"\x00","a":{}}'),
    "a NUL behind JSON": json_text('{"a":{}}\x00'),
    "a NUL before JSON": json_text('\x00{"a":{}}'),
    "text behind JSON": json_text('{"a":{}} x'),
    "a bracket behind JSON": json_text('{"a":{}}}'),
    "a line feed between documents": json_text('{"b":1}\n{"a":{}}'),
    "a form feed before JSON": json_text('\x0c{"a":{}}'),
    "a no-break space before JSON": json_text('\xa0{"a":{}}'),
    "a prefix against inclusion": json_text(')]}\',\n{"a":{}}'),
    "a call around JSON": json_text('f({"a":{}})'),
    "a record separator before JSON": json_text('\x1e{"a":{}}'),
    "100 blanks before JSON": json_text(" " * 100 + '{"a":{}}'),
    "30 KiB of blanks before JSON": json_text(" " * 30_000 + '{"a":{}}'),
    "30 KiB of blanks in JSON": json_text('{"a":' + "\n" * 30_000 + "{}}"),
    "escapes of letters": json_text('{"a":{}}', encode=_letters_escaped),
    "escapes of signs": json_text('{"a":{}}', encode=_signs_escaped),
    "escapes of every third character": json_text('{"a":{}}', encode=_every_third),
    "an escaped name of the prototype": json_text('{"\\u005f_proto__":{}}'),
    "a name of the prototype": json_text('{"__proto__":{"a":{}}}'),
    "a constructor in JSON": json_text('{"constructor":{"prototype":{"a":{}}}}'),
    "a NUL in a name": json_text('{"a\\u0000b":{}}'),
    "half a surrogate pair in a name": json_text('{"\\udc00":{}}'),
    "a name of 10 KiB": json_text('{"' + "a" * 10_000 + '":{}}'),
    "keys in other cases": json_text('{"A":{},"a":1}'),
    "three equal keys": json_text('{"a":1,"a":{},"a":2}'),
    "the key of a key": json_text('{"a":{{}:{"b":1}}}'),
    "400 levels": json_text("[" * 400 + "{}" + "]" * 400),
    "behind 1,100 names": json_text("{" + "".join(f'"n{each}":1,' for each in range(1_100)) + '"a":{}}'),
    "before 1,100 names": json_text('{"a":{},' + ",".join(f'"n{each}":1' for each in range(1_100)) + "}"),
    "behind 5,000 numbers": json_text("[" + "1," * 5_000 + "{}]"),
    "behind 2,500 escapes": json_text('{"b":"' + "\\n" * 2_500 + '","a":{}}'),
    "behind 2,500 escapes, itself in escapes": json_text('{"b":"' + "\\n" * 2_500 + '","a":{}}', encode=escaped),
    "behind 40 KiB of text": json_text('{"b":"' + "some words " * 3_700 + '","a":{}}'),
    "at the end of 40 KiB of text": lambda payload: Made(
        JSON, json.dumps({"a": "some words " * 3_700 + payload}).encode()
    ),
    "in the middle of 40 KiB of text": lambda payload: Made(
        JSON, json.dumps({"a": f"{'some words ' * 1_800} {payload} {'some words ' * 1_800}"}).encode()
    ),
    "bytes that are no UTF-8 in JSON": _bytes(b'{"b":"\xff\xfe","a":{}}'),
    "an overlong character in JSON": _bytes(b'{"b":"\xc0\xbc","a":{}}'),
    "a surrogate in UTF-8": _bytes(b'{"b":"\xed\xa0\x80","a":{}}'),
    "bytes that are no UTF-8 before JSON": _bytes(b'\xff{"a":{}}'),
    "markup of an editor in JSON": lambda payload: Made(
        JSON, json.dumps({"a": f"<p>Our notes about the week, with all of it</p><p>{payload}</p>"}).encode()
    ),
    "JSON in JSON in JSON": lambda payload: Made(
        JSON, json.dumps({"a": payload, "b": json.dumps({"c": json.dumps([1])})}).encode()
    ),
    "a list of calls": json_text('[{"jsonrpc":"2.0","method":"m","params":[{}],"id":1}]'),
    "GraphQL with a variable": json_text('{"query":"query q($a: String) { f(a: $a) }","variables":{"a":{}}}'),
    "a patch": json_text('[{"op":"add","path":"/a","value":{}}]', "application/json-patch+json"),
}
_TYPES = {
    "JSON as text/json": "text/json",
    "JSON as application/x-json": "application/x-json",
    "JSON as HTML": "text/html",
    "JSON as a script": "application/javascript",
    "JSON as text/javascript": "text/javascript",
    "JSON as a style sheet": "text/css",
    "JSON as an image": "image/png",
    "JSON as an image of SVG": "image/svg+xml",
    "JSON as any bytes": "application/octet-stream",
    "JSON as XML": "application/xml",
    "JSON as parts": "multipart/form-data; boundary=b",
    "JSON as parts without a boundary": "multipart/form-data",
    "JSON without a media type": "",
    "JSON as a broken media type": ";",
    "JSON in capitals": "APPLICATION/JSON",
    "a charset that is not true": f"{JSON}; charset=utf-16",
    "a charset of JSON twice": f"{JSON}; charset=utf-8; charset=utf-7",
    "JSON and HTML": f"{JSON}, text/html",
    "JSON twice": f"{JSON}, {JSON}",
    "a comma behind JSON": f"{JSON},",
    "JSON with a profile": f'{JSON}; profile="a;b,c"',
    "JSON with a boundary": f"{JSON}; boundary=b",
    "GraphQL": "application/graphql",
    "lines of JSON": "application/x-ndjson",
    "a report": "application/reports+json",
}
JSONS |= {name: json_text('{"a":{}}', kind) for name, kind in _TYPES.items()}
