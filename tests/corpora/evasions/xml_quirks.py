"""Quirks of XML and SOAP: references, CDATA, entities, namespaces, charsets, envelopes, and media types."""

from xml.sax.saxutils import escape, quoteattr

from tests.corpora.evasions.making import FORM, Encode, Made, Make

XML = "application/xml"


def _xml(template: str, kind: str = XML, encode: Encode = escape, code: str = "utf-8", mark: bytes = b"") -> Make:
    return lambda payload: Made(kind, mark + template.replace("{}", encode(payload)).encode(code))


def _decimal(text: str) -> str:
    return "".join(f"&#{ord(each)};" for each in text)


def _hexadecimal(text: str) -> str:
    return "".join(f"&#x{ord(each):x};" for each in text)


def _zeros(text: str) -> str:
    return "".join(f"&#x{ord(each):08X};" for each in text)


def _in_pieces(before: str, between: str, behind: str) -> Encode:
    return lambda text: before + between.join(text) + behind


def _entity(text: str) -> str:
    return _zeros(text).replace("&", "&#38;")


_SOAP = 'xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"'
_SOAP_12 = 'xmlns:s="http://www.w3.org/2003/05/soap-envelope"'
XMLS: dict[str, Make] = {
    "XML": _xml("<r>{}</r>"),
    "an attribute": _xml("<r a={}/>", encode=quoteattr),
    "an attribute in single quotes": _xml("<r a='{}'/>", encode=_decimal),
    "CDATA": _xml("<r><![CDATA[{}]]></r>", encode=str),
    "a letter in each CDATA": _xml("<r>{}</r>", encode=_in_pieces("<![CDATA[", "]]><![CDATA[", "]]>")),
    "comments between letters": _xml("<r>{}</r>", encode=lambda text: "<!-- x -->".join(map(escape, text))),
    "instructions between letters": _xml("<r>{}</r>", encode=lambda text: "<?x y?>".join(map(escape, text))),
    "decimal references": _xml("<r>{}</r>", encode=_decimal),
    "hexadecimal references": _xml("<r>{}</r>", encode=_hexadecimal),
    "references with zeros": _xml("<r>{}</r>", encode=_zeros),
    "references in an attribute": _xml('<r a="{}"/>', encode=_zeros),
    "an entity": _xml('<!DOCTYPE r [<!ENTITY e "{}">]><r>&e;</r>', encode=_entity),
    "an entity in an attribute": _xml('<!DOCTYPE r [<!ENTITY e "{}">]><r a="&e;"/>', encode=_entity),
    "an entity of entities": _xml(
        '<!DOCTYPE r [<!ENTITY d "{}"><!ENTITY e "&d;">]><r>&e;</r>', encode=_entity
    ),
    "a letter in each entity": lambda payload: Made(XML, _letters_of_entities(payload)),
    "an entity in capitals": _xml('<!DOCTYPE r [<!ENTITY E "{}">]><r>&E;</r>', encode=_entity),
    "a default of an attribute": _xml('<!DOCTYPE r [<!ATTLIST r a CDATA "{}">]><r/>', encode=_zeros),
    "a document type without entities": _xml("<!DOCTYPE r [<!ELEMENT r (#PCDATA)>]><r>{}</r>"),
    "a document type of HTML": _xml("<!DOCTYPE html><r>{}</r>"),
    "an external document type": _xml('<!DOCTYPE r SYSTEM "r.dtd"><r>{}</r>'),
    "a prefix": _xml('<p:r xmlns:p="urn:p"><p:a>{}</p:a></p:r>'),
    "a default namespace": _xml('<r xmlns="urn:p"><a>{}</a></r>'),
    "a namespace": _xml('<r xmlns:p="{}"/>', encode=_zeros),
    "an attribute with a prefix": _xml('<r xmlns:p="urn:p" p:a="{}"/>', encode=_zeros),
    "a base": _xml('<r xml:base="urn:x"><a xml:lang="en">{}</a></r>'),
    "a declaration": _xml('<?xml version="1.0" encoding="UTF-8" standalone="yes"?><r>{}</r>'),
    "XML 1.1": _xml('<?xml version="1.1"?><r>{}</r>'),
    "a comment before it": _xml("<!-- x --><r>{}</r>"),
    "an instruction before it": _xml("<?x y?><r>{}</r>"),
    "a style sheet before it": _xml('<?xml-stylesheet href="x"?><r>{}</r>'),
    "line breaks before it": _xml("\r\n\r\n<r>{}</r>"),
    "a comment behind it": _xml("<r>{}</r><!-- x -->"),
    "text of XML behind it": _xml("<r>{}</r>x"),
    "an unclosed element": _xml("<r><a>{}</a>"),
    "text before and behind": _xml("<r>x<a/>{}<a/>y</r>"),
    "blanks in tags": _xml("<r\n>{}</r\n>"),
    "names that are not ASCII": _xml("<r\xe9>{}</r\xe9>"),
    "an attribute with a line break": _xml('<r a="x&#10;{}"/>', encode=_zeros),
    "100 attributes": _xml("<r {}/>", encode=lambda text: _attributes(100) + f" a={quoteattr(text)}"),
    "200 levels of XML": _xml("<r>" * 200 + "{}" + "</r>" * 200),
    "300 levels of XML": _xml("<r>" * 300 + "{}" + "</r>" * 300),
    "behind 600 elements": _xml("<r>" + "<a>some words here</a>" * 600 + "<a>{}</a></r>"),
    "before 600 elements": _xml("<r><a>{}</a>" + "<a>some words here</a>" * 600 + "</r>"),
    "behind 600 elements, as references": _xml(
        "<r>" + "<a>some words here</a>" * 600 + "<a>{}</a></r>", encode=_decimal
    ),
    "behind 600 elements, in CDATA": _xml(
        "<r>" + "<a>some words here</a>" * 600 + "<a><![CDATA[{}]]></a></r>", encode=str
    ),
    "behind 40 KiB of XML": _xml("<r><a>" + "some words " * 3_700 + "</a><a>{}</a></r>"),
    "behind 3,000 references": _xml("<r><a>" + "&#65;" * 3_000 + "</a><a>{}</a></r>"),
    "SOAP": _xml(f"<s:Envelope {_SOAP}><s:Body><a>{{}}</a></s:Body></s:Envelope>", "text/xml; charset=utf-8"),
    "SOAP 1.2": _xml(
        f"<s:Envelope {_SOAP_12}><s:Body><a>{{}}</a></s:Body></s:Envelope>", 'application/soap+xml; action="urn:x"'
    ),
    "a header of SOAP": _xml(f"<s:Envelope {_SOAP}><s:Header><a>{{}}</a></s:Header><s:Body/></s:Envelope>"),
    "SOAP with CDATA": _xml(
        f"<s:Envelope {_SOAP}><s:Body><a><![CDATA[{{}}]]></a></s:Body></s:Envelope>", encode=str
    ),
    "SOAP with a type": _xml(
        f'<s:Envelope {_SOAP} xmlns:i="urn:i"><s:Body><a i:type="i:string">{{}}</a></s:Body></s:Envelope>'
    ),
    "SOAP with XML in its text": _xml(
        f"<s:Envelope {_SOAP}><s:Body><a>&lt;b&gt;{{}}&lt;/b&gt;</a></s:Body></s:Envelope>"
    ),
    "a call of XML-RPC": _xml(
        "<methodCall><methodName>m</methodName><params><param><value><string>{}</string></value></param></params>"
        "</methodCall>", "text/xml"
    ),
    "a value of XML-RPC without a type": _xml(
        "<methodCall><methodName>m</methodName><params><param><value>{}</value></param></params></methodCall>"
    ),
    "a feed": _xml('<rss version="2.0"><channel><item><title>{}</title></item></channel></rss>', "application/rss+xml"),
    "a property of WebDAV": _xml(
        '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><D:displayname>{}</D:displayname></D:prop></D:set>'
        "</D:propertyupdate>"
    ),
    "UTF-16 LE of XML": _xml('<?xml version="1.0"?><r>{}</r>', code="utf-16-le", mark=b"\xff\xfe"),
    "UTF-16 BE of XML": _xml('<?xml version="1.0"?><r>{}</r>', code="utf-16-be", mark=b"\xfe\xff"),
    "UTF-16 without a mark": _xml('<?xml version="1.0" encoding="UTF-16LE"?><r>{}</r>', code="utf-16-le"),
    "UTF-16 without a declaration": _xml("<r>{}</r>", code="utf-16-be"),
    "a mark of UTF-8 before XML": _xml("<r>{}</r>", mark=b"\xef\xbb\xbf"),
    "UTF-32 of XML": _xml('<?xml version="1.0" encoding="UTF-32BE"?><r>{}</r>', code="utf-32-be"),
    "UTF-32 with a mark": _xml('<?xml version="1.0" encoding="UTF-32"?><r>{}</r>', code="utf-32"),
    "Latin-1 of XML": _xml('<?xml version="1.0" encoding="ISO-8859-1"?><r>\xe9{}</r>', code="latin-1"),
    "Windows-1252 of XML": _xml('<?xml version="1.0" encoding="windows-1252"?><r>\xe9{}</r>', code="latin-1"),
    "UTF-7 of XML": _xml('<?xml version="1.0" encoding="UTF-7"?><r>+', encode=str, code="ascii"),
    "IBM037 of XML": _xml('<?xml version="1.0" encoding="IBM037"?><r>{}</r>', code="cp037"),
    "Shift-JIS of XML": _xml('<?xml version="1.0" encoding="Shift_JIS"?><r>\u3042{}</r>', code="shift_jis"),
    "ISO-2022-JP of XML": _xml('<?xml version="1.0" encoding="ISO-2022-JP"?><r>\u3042{}</r>', code="iso-2022-jp"),
    "GB18030 of XML": _xml('<?xml version="1.0" encoding="GB18030"?><r>\u4e2d{}</r>', code="gb18030"),
    "an unknown encoding": _xml('<?xml version="1.0" encoding="x-unknown"?><r>{}</r>'),
    "a charset of XML that is not true": _xml("<r>{}</r>", f"{XML}; charset=utf-16"),
    "a charset of UTF-16 for XML": _xml("<r>{}</r>", f"{XML}; charset=utf-16", code="utf-16"),
    "XML as any bytes in UTF-16": _xml(
        '<?xml version="1.0"?><r>{}</r>', "application/octet-stream", code="utf-16-le", mark=b"\xff\xfe"
    ),
}  # fmt: skip
_TYPES = {
    "XML as text/xml": "text/xml",
    "XML as an atom feed": "application/atom+xml",
    "XML as XHTML": "application/xhtml+xml",
    "XML as an image of SVG": "image/svg+xml",
    "XML as HTML": "text/html",
    "XML as text": "text/plain",
    "XML as any bytes": "application/octet-stream",
    "XML as an image": "image/png",
    "XML as JSON": "application/json",
    "XML as a form": FORM,
    "XML as a script": "text/javascript",
    "XML without a media type": "",
    "XML in capitals": "Application/XML",
    "XML twice": f"{XML}, {XML}",
    "XML and HTML": f"{XML}, text/html",
    "XML of XOP": 'application/xop+xml; type="text/xml"',
    "XML of an external entity": "text/xml-external-parsed-entity",
}
XMLS |= {name: _xml("<r><a>{}</a></r>", kind) for name, kind in _TYPES.items()}
XMLS["UTF-7 of XML"] = lambda payload: Made(
    XML, b'<?xml version="1.0" encoding="UTF-7"?>' + f"<r>{escape(payload)}</r>".encode("utf-7")
)


def _attributes(count: int) -> str:
    return " ".join(f'a{each}="x y"' for each in range(count))


def _letters_of_entities(text: str) -> bytes:
    letters = dict.fromkeys(text)
    declared = "".join(f'<!ENTITY e{ord(each)} "{_entity(each)}">' for each in letters)
    return f"<!DOCTYPE r [{declared}]><r>{''.join(f'&e{ord(each)};' for each in text)}</r>".encode()
