"""CalDAV, CardDAV and WebDAV servers, sign-in by SAML, SOAP: XML on the wire (RFC 4791, 6352, 4918)."""

import base64
import zlib
from xml.sax.saxutils import escape, quoteattr

from tests.corpora.applications.content import Content
from tests.corpora.applications.wire import Sent, Shape, as_json, as_xml, form, get, put, segment

DAVX5 = "DAVx5/4.4.3-ose (2024/08/22; dav4jvm; okhttp/4.12.0) Android/14"
APPLE = "macOS/14.5 (23F79) dataaccessd/1.0"
DESKTOP = "Mozilla/5.0 (Linux) mirall/3.13.0 (Nextcloud, debian-6.1.0 ClientArchitecture: x86_64)"
KEEPASS = "KeePass/2.57"
_NS = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" xmlns:CR="urn:ietf:params:xml:ns:carddav" xmlns:CS="http://calendarserver.org/ns/"'
_XML = '<?xml version="1.0" encoding="UTF-8"?>'


def _propfind(agent: str, uri: str, depth: str, properties: str) -> Shape:
    body = f"{_XML}\n<D:propfind {_NS}><D:prop>{properties}</D:prop></D:propfind>"
    return lambda content: as_xml("PROPFIND", uri.format(user="alice"), body, agent=agent, Depth=depth)


def _event(content: Content) -> str:
    title, text = content.title(), content.sentence().replace(",", "\\,")
    return (
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//Calendar//EN\r\nBEGIN:VEVENT\r\n"
        f"UID:{content.id()}\r\nDTSTAMP:20261123T090000Z\r\nDTSTART;TZID=Europe/Vienna:20261201T100000\r\n"
        f"SUMMARY:{title}\r\nDESCRIPTION:{text}\\nhttps://cloud.example/call/{content.number()}\r\n"
        f"ORGANIZER;CN={content.person()}:mailto:alice@cloud.example\r\nRRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=10\r\n"
        "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT15M\r\nDESCRIPTION:Reminder\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )


def _contact(content: Content) -> str:
    photo = base64.b64encode(content.data(400)).decode()
    return (
        f"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{content.id()}\r\nFN:{content.person()}\r\nN:{content.person()};;;;\r\n"
        f"EMAIL;TYPE=WORK:info@cloud.example\r\nNOTE:{content.sentence()}\r\nURL:https://cloud.example/\r\n"
        f"PHOTO;ENCODING=b;TYPE=JPEG:{photo}\r\nEND:VCARD\r\n"
    )


def _put_event(agent: str, uri: str) -> Shape:
    return lambda content: put(
        f"{uri}{content.id()}.ics", _event(content).encode(), "text/calendar; charset=utf-8", agent=agent
    )


def _put_contact(agent: str, uri: str) -> Shape:
    return lambda content: put(
        f"{uri}{content.id()}.vcf", _contact(content).encode(), "text/vcard; charset=utf-8", agent=agent
    )


def _query(agent: str, uri: str) -> Shape:
    body = (
        f'{_XML}<C:calendar-query {_NS}><D:prop><D:getetag/><C:calendar-data/></D:prop><C:filter><C:comp-filter name="VCALENDAR">'
        '<C:comp-filter name="VEVENT"><C:time-range start="20261101T000000Z" end="20261201T000000Z"/></C:comp-filter>'
        "</C:comp-filter></C:filter></C:calendar-query>"
    )
    return lambda content: as_xml("REPORT", uri, body, agent=agent, Depth="1")


def _multiget(agent: str, uri: str) -> Shape:
    def shape(content: Content) -> Sent:
        hrefs = "".join(f"<D:href>{uri}{content.id()}.vcf</D:href>" for _ in range(20))
        body = f"{_XML}<CR:addressbook-multiget {_NS}><D:prop><D:getetag/><CR:address-data/></D:prop>{hrefs}</CR:addressbook-multiget>"
        return as_xml("REPORT", uri, body, agent=agent, Depth="1", kind="text/xml; charset=utf-8")

    return shape


def _sync(agent: str, uri: str) -> Shape:
    return lambda content: as_xml(
        "REPORT",
        uri,
        f"{_XML}<D:sync-collection {_NS}><D:sync-token>http://cloud.example/ns/sync/{content.number()}</D:sync-token>"
        "<D:sync-level>1</D:sync-level><D:prop><D:getetag/></D:prop></D:sync-collection>",
        agent=agent,
    )


def _make_calendar(agent: str, uri: str) -> Shape:
    return lambda content: as_xml(
        "MKCALENDAR",
        f"{uri}{content.id()}/",
        f"{_XML}<C:mkcalendar {_NS}><D:set><D:prop><D:displayname>{escape(content.title())}</D:displayname>"
        f"<C:calendar-description>{escape(content.sentence())}</C:calendar-description></D:prop></D:set></C:mkcalendar>",
        agent=agent,
    )


def _proppatch(agent: str, uri: str) -> Shape:
    return lambda content: as_xml(
        "PROPPATCH",
        uri + segment(content.file_name()),
        f'{_XML}<d:propertyupdate xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns"><d:set><d:prop><oc:favorite>1</oc:favorite>'
        f"<d:displayname>{escape(content.title())}</d:displayname></d:prop></d:set></d:propertyupdate>",
        agent=agent,
    )


def _lock(agent: str, uri: str) -> Shape:
    return lambda content: as_xml(
        "LOCK",
        uri + segment(content.file_name()),
        f'{_XML}<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>'
        f"<D:owner><D:href>{escape(content.person())}</D:href></D:owner></D:lockinfo>",
        agent=agent,
        Timeout="Second-3600",
    )


def _file(agent: str, uri: str) -> Shape:
    def shape(content: Content) -> Sent:
        name, text = content.code()
        if content.number(3) == 1:
            return put(
                uri + segment(content.file_name()), content.data(20_000), "application/octet-stream", agent=agent
            )
        return put(
            uri + segment(name),
            text.encode(),
            content.one_of("", "text/plain", "application/octet-stream"),
            agent=agent,
        )

    return shape


def _database(content: Content) -> Sent:
    data = b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5" + content.data(20_000)
    return put("/remote.php/dav/files/alice/Passwords.kdbx", data, "application/octet-stream", agent=KEEPASS)


def _move(content: Content) -> Sent:
    source = f"/remote.php/dav/files/alice/{segment(content.file_name())}"
    target = f"https://cloud.example/remote.php/dav/files/alice/{segment(content.file_name())}"
    return Sent("MOVE", source, b"", {"Destination": target, "Overwrite": "F"}, KEEPASS)


def _assertion(content: Content) -> str:
    values = "".join(
        f"<saml:Attribute Name={quoteattr(name)}><saml:AttributeValue>{escape(value)}</saml:AttributeValue></saml:Attribute>"
        for name, value in (
            ("displayName", content.person()),
            ("mail", "alice@cloud.example"),
            ("memberOf", "cn=staff,ou=groups,dc=cloud"),
        )
    )
    signature = base64.b64encode(content.data(256)).decode()
    return (
        '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" '
        f'ID="_{content.id()}" Version="2.0" IssueInstant="2026-11-23T09:00:00Z" Destination="https://cloud.example/saml/acs">'
        '<saml:Issuer>https://id.example/realms/main</saml:Issuer><ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo>'
        '<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><ds:Reference URI="#_1"/></ds:SignedInfo>'
        f"<ds:SignatureValue>{signature}</ds:SignatureValue></ds:Signature><samlp:Status><samlp:StatusCode "
        'Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status><saml:Assertion Version="2.0"><saml:Subject><saml:NameID>'
        f"{escape(content.person())}</saml:NameID></saml:Subject><saml:AttributeStatement>{values}</saml:AttributeStatement></saml:Assertion></samlp:Response>"
    )


def _saml_post(content: Content) -> Sent:
    coded = base64.b64encode(_assertion(content).encode()).decode()
    return form("/saml/acs", SAMLResponse=coded, RelayState=f"https://cloud.example/apps/{content.number()}")


def _saml_redirect(content: Content) -> Sent:
    request = (
        f'<samlp:AuthnRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_{content.id()}" Version="2.0" '
        'AssertionConsumerServiceURL="https://cloud.example/saml/acs"/>'
    )
    packed = base64.b64encode(zlib.compress(request.encode())[2:-4]).decode()
    return get("/realms/main/protocol/saml", SAMLRequest=packed, RelayState="/")


def _token_request(content: Content) -> Sent:
    return form("/realms/main/protocol/openid-connect/token", grant_type="authorization_code", code=content.id(),
                redirect_uri="https://cloud.example/callback", client_assertion=content.token())  # fmt: skip


def _soap(action: str) -> Shape:
    def shape(content: Content) -> Sent:
        body = (
            f'{_XML}<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" '
            f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Header/><soapenv:Body><{action} xmlns="urn:example:service"><title '
            f'xsi:type="xsd:string">{escape(content.title())}</title><text>{escape(content.markdown())}</text><id>{content.number()}</id></{action}></soapenv:Body></soapenv:Envelope>'
        )
        return as_xml(
            "POST",
            "/service.asmx",
            body,
            kind="text/xml; charset=utf-8",
            agent="Apache-CXF/4.0.3",
            SOAPAction=f'"{action}"',
        )

    return shape


def _xml_rpc(content: Content) -> Sent:
    return as_xml(
        "POST",
        "/xmlrpc/2/object",
        f"<?xml version='1.0'?>\n<methodCall><methodName>execute_kw</methodName><params><param><value><string>odoo</string></value></param>"
        f"<param><value><int>{content.number()}</int></value></param><param><value><string>{escape(content.title())}</string></value></param></params></methodCall>",
        agent="Python-xmlrpc/3.11",
        kind="text/xml",
    )


_BASICS = "<D:resourcetype/><D:displayname/><D:getetag/><D:current-user-principal/><CS:getctag/><C:calendar-home-set/>"
APPLICATIONS: dict[str, tuple[Shape, ...]] = {
    "Radicale (CalDAV)": (
        _propfind(DAVX5, "/{user}/", "0", _BASICS), _query(DAVX5, "/alice/calendar/"), _put_event(DAVX5, "/alice/calendar/"),
        _sync(DAVX5, "/alice/calendar/"), _make_calendar(DAVX5, "/alice/"),
    ),
    "Baïkal (CardDAV)": (
        _propfind(APPLE, "/dav.php/addressbooks/{user}/", "1", _BASICS), _multiget(APPLE, "/dav.php/addressbooks/alice/default/"),
        _put_contact(APPLE, "/dav.php/addressbooks/alice/default/"), _sync(APPLE, "/dav.php/addressbooks/alice/default/"),
    ),
    "Nextcloud": (
        _propfind(DESKTOP, "/remote.php/dav/files/{user}/", "1", "<D:getlastmodified/><D:getcontentlength/>"),
        _file(DESKTOP, "/remote.php/dav/files/alice/"), _proppatch(DESKTOP, "/remote.php/dav/files/alice/"),
        _put_event(DAVX5, "/remote.php/dav/calendars/alice/personal/"),
        lambda content: as_json("PUT", f"/index.php/apps/notes/api/v1/notes/{content.number()}", {"title": content.title(), "content": content.markdown()}),
        lambda content: as_json("POST", f"/ocs/v2.php/apps/spreed/api/v1/chat/{content.id()[:8]}", {"message": content.comment(), "silent": False}),
    ),
    "wsgidav (WebDAV)": (
        _propfind("gvfs/1.50.3", "/share/", "1", "<D:displayname/>"), _lock("gvfs/1.50.3", "/share/"), _file("gvfs/1.50.3", "/share/"),
        _proppatch("Microsoft-WebDAV-MiniRedir/10.0.22631", "/share/"),
    ),
    "KeePass over WebDAV": (_database, _move, lambda content: get("/remote.php/dav/files/alice/Passwords.kdbx", agent=KEEPASS)),
    "Keycloak (SAML, OpenID Connect)": (_saml_post, _saml_redirect, _token_request),
    "SOAP service": (_soap("GetDocument"), _soap("UpdateTicket")),
    "Odoo": (
        _xml_rpc,
        lambda content: as_json("POST", "/web/dataset/call_kw/res.partner/web_search_read", {"jsonrpc": "2.0", "method": "call", "params": {
            "model": "res.partner", "method": "web_search_read", "args": [], "kwargs": {"domain": ["|", ["name", "ilike", content.title()], ["email", "ilike", content.person()]], "limit": 80}}}),
        lambda content: as_json("POST", "/web/dataset/call_kw/mail.message/message_post", {"jsonrpc": "2.0", "params": {"body": content.page(), "subtype_xmlid": "mail.mt_comment"}}),
    ),
}  # fmt: skip
