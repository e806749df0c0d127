"""Values that the built-in rules inspect: the request's parts, decoded as an attacked application would. No I/O.

Each value is percent-decoded; ``further_forms.py`` adds further forms. No value contains a line feed: it joins values.
"""

from functools import lru_cache

from gatewall.engine.model import AccessRequest
from gatewall.engine.waf import raw_form
from gatewall.engine.waf.body.body_reader import Body
from gatewall.engine.waf.body.texts import FORM_MARK, LONG, UNINSPECTED, BodyText, rest_text
from gatewall.engine.waf.decoding import MIN_BASE64, base64_decoded, basic_decoded, split_query
from gatewall.engine.waf.exclusions import Name
from gatewall.engine.waf.further_forms import add
from gatewall.engine.waf.percent import decoded_once, has_too_many_wide, percent_decoded
from gatewall.engine.waf.plain_headers import inspected_headers, is_plain_address
from gatewall.engine.waf.redirects import REDIRECTS, Addressed, add_redirect
from gatewall.engine.waf.rules import BodyRegion, Region, Target
from gatewall.engine.waf.values import Value, Values

MAX_URI = 32_768
MAX_HEADER = 8_192
MAX_HEADERS = 65_536
MAX_BODY = 65_536  # a longer form is refused
MAX_READ = 65_536
MAX_SEPARATE = 40
"""Arguments and cookies that are matched one by one; further ones form one value."""
MAX_OF_MANY = 16  # of over 100 arguments
_MANY = 100
LONG_URI = 1_024  # only of longer URIs is the beginning inspected first
BEGINNING = 256
_WIDE_BEGINNING = 8_192  # escapes beyond it exceed what all rules inspect, which is noted
_FOUR_LAYERS = "%252525"  # percent-encoding of a percent sign, three times
CUT = 32
"""Characters at the end of a cut value that may decode differently: half an escape, three times decoded."""
_MOST_HEADERS = 32  # unusual headers that are matched one by one; further ones form one value
LONG_NAME = 16  # longer names may be base64
SHORT = 256
SURELY_LONG = 7 * LONG
"""Characters of an argument that is long even if each of its characters is encoded three times: ``%25252F``."""
FROM_ELSEWHERE = "\x01from elsewhere "

_IN_ATTACKS = (" ", "\t", "\n", "/*", "${jndi", "<script")
"""A password without these is not inspected: one in sixty random ones with punctuation looks like an attack."""
_URI, _PATH, _ARGS, _ARG_NAMES = Target.URI, Target.PATH, Target.ARGS, Target.ARG_NAMES
_HEADERS, _USER_AGENT, _COOKIES = Target.HEADERS, Target.USER_AGENT, Target.COOKIES
_REFERER, _BODY = Target.REFERER, Target.BODY  # module constants, because enum look-ups are slow


def values_of(request: AccessRequest) -> Values:
    """Return everything that is inspected except the raw URI, in scan order."""
    values = Values()
    add_target(values, request)
    _headers(values, request)
    if request.cookies:
        _cookies(values, request)
    if request.body or not request.body_is_whole:
        values.begin_body()
        _body(values, request)
    values.finish()
    return values


def beginning_of(request: AccessRequest) -> list[Value]:
    """Return the values in the beginning of a long URI, without further forms; the last may be cut (``CUT``)."""
    path, _, query = request.uri[:BEGINNING].partition("?")
    values: list[Value] = [(_PATH, None, percent_decoded(path).replace("\n", "\r"))]
    for part in query.replace("+", " ").split("&", MAX_SEPARATE)[:MAX_SEPARATE]:
        name, _, value = part.partition("=")
        if len(value) >= MIN_BASE64 or not value.isalnum():
            values.append((_ARGS, percent_decoded(name), percent_decoded(value).replace("\n", "\r")))
    return values


def raw_uri(request: AccessRequest) -> str:
    """Return the URI as sent if it contains an encoding, for rules on encoding tricks; else ""."""
    uri = request.uri
    return uri[:MAX_URI].replace("\n", "\r") if "%" in uri or "\\" in uri else ""


def add_target(values: Values, request: Addressed) -> None:
    """Add the values of the URI."""
    uri = request.uri
    if len(uri) > MAX_URI:
        values.append((_URI, None, UNINSPECTED + "uri"))
        uri = uri[:MAX_URI]
    _note_layers(values, _ARGS, uri)
    path, _, query = uri.partition("?")
    _path(values, path)
    if query:
        _arguments(values, _ARGS, query, request)


def _note_layers(values: Values, target: Target, text: str) -> None:
    """Note percent-encoding of more layers than are decoded, and more ``%uXXXX``."""
    if "%" not in text:
        return
    if _FOUR_LAYERS in text:  # this search costs twenty times as much
        values.note(target, "layers")
        return
    begin = text[:_WIDE_BEGINNING]
    if ("%u" in begin or "%U" in begin or "25u" in begin or "25U" in begin) and has_too_many_wide(begin):
        values.note(target, "escapes")


def _cookies(values: Values, request: AccessRequest) -> None:
    for name, value in request.cookies[:MAX_SEPARATE]:
        _note_layers(values, _COOKIES, value)
        if not (name.isidentifier() or name.replace("-", "").replace("_", "").isalnum()):
            add(values, _COOKIES, name, percent_decoded(name[:MAX_HEADER]), base64=False)
        if not (value.isalnum() or _is_token(value)):
            add(values, _COOKIES, name, percent_decoded(value[:MAX_HEADER]))
        elif len(value) >= MIN_BASE64 and (inside := base64_decoded(value[:MAX_HEADER])) is not None:
            add(values, _COOKIES, name, percent_decoded(inside))
    if rest := request.cookies[MAX_SEPARATE:]:
        values.note(_COOKIES, "cookies")
        text = "\f".join([f"{name}={value}" for name, value in rest])
        add(values, BodyRegion.HEAD, None, percent_decoded(text[:MAX_HEADERS]), base64=False)


def _is_token(text: str) -> bool:
    return text.replace("-", "").replace("_", "").replace(".", "").isalnum()


def _path(values: Values, path: str) -> None:
    if "%" in path:
        path = percent_decoded(path)
    add(values, _PATH, None, path, base64=False)
    if len(path) < MIN_BASE64:
        return
    last = path[path.rfind("/") + 1 :]
    inside = base64_decoded(last) if len(last) >= MIN_BASE64 else None
    if inside is None and len(path) > len(last) + 1:
        inside = base64_decoded(path[1:])  # base64 may contain slashes
    if inside is not None:
        add(values, _PATH, None, percent_decoded(inside))


def _arguments(  # noqa: C901 - one function, because a call per argument slows ordinary requests
    values: Values, target: Region, query: str, request: Addressed | None = None
) -> None:
    """Add the arguments of a query or form; ``request`` is given if they are its own."""
    parts = split_query((query := query.replace("+", " ")), MAX_SEPARATE)
    parts, rest = _first_of(values, target, query) if len(parts) > MAX_SEPARATE else (parts, "")
    names = _ARG_NAMES if target is _ARGS else target
    encoded = "%" in query
    together: list[str] = []
    for part in parts:
        if target is _BODY and values.are_texts(len(part), SURELY_LONG) and not values.may_be_apart(part):
            together.append(part)
            continue
        name, _, value = part.partition("=")
        if len(value) < MIN_BASE64 and value.isalnum():
            value = ""
        label: Name = name
        if encoded:
            if "%" in name:
                name, label = _decoded_name(name)
            value = percent_decoded(value)
        if not name.isidentifier() or "__" in name or len(name) >= LONG_NAME:
            add(values, names, label, name)
        if value:
            region = target
            if target is _BODY:
                _, value, region, _ = values.judged(BodyText(None, value, target, is_field=True))
            add(values, region, label, value)
            if request and (value[:4] == "http" or value[:2] == "//") and name.lower() in REDIRECTS:
                add_redirect(values, target, label, value, request)
    if together:
        rest = "&".join([*together, rest])
    if rest:
        region = BodyRegion.TEXT if target is _BODY else BodyRegion.HEAD
        add(values, region, None, percent_decoded(rest.replace("&", "\f")), base64=False)


def _first_of(values: Values, target: Region, query: str) -> tuple[list[str], str]:
    """Return the arguments of a long query that are matched one by one, and the others, which are noted."""
    is_many = len(split_query(query, _MANY + 1)) > _MANY + 1
    parts = split_query(query, MAX_OF_MANY if is_many else MAX_SEPARATE)
    values.note(target, "arguments")
    values.limit_forms()
    return parts, parts.pop()


def _decoded_name(name: str) -> tuple[str, Name]:
    """Return a decoded name, and the name for exclusions: without a part if sites that decode once read another."""
    decoded = percent_decoded(name)
    is_sure = decoded_once(name.encode()).decode("latin-1") == decoded
    return decoded, decoded if is_sure else (None, decoded)


def _headers(values: Values, request: AccessRequest) -> None:
    left = MAX_HEADERS
    inspected = inspected_headers(request)
    if len(inspected) > _MOST_HEADERS:
        values.append((_HEADERS, None, UNINSPECTED + "headers"))
        rest = "\f".join([f"{name}: {value}" for name, value in inspected[_MOST_HEADERS:]])
        add(values, _HEADERS, None, percent_decoded(rest[:MAX_HEADERS]), base64=False)
    for name, value in inspected[:_MOST_HEADERS]:
        left -= len(value)
        if len(value) > MAX_HEADER or left < 0:
            values.append((_HEADERS, name, UNINSPECTED + "header"))
            value = value[:MAX_HEADER] if left > 0 else ""  # noqa: PLW2901 - cut to the inspected length
        if name == "user-agent":
            if value.startswith("Mozilla/"):
                values.put(_USER_AGENT, None, value.replace("\n", "\r") if "\n" in value else value)
            else:
                add(values, _USER_AGENT, None, percent_decoded(value))
        elif name == "referer":
            add_referer(values, request, value)
        elif name != "cookie":
            _header(values, name, value)
    for name, value in request.site_credentials:
        _credential(values, name, value)


def _header(values: Values, name: str, value: str) -> None:
    if value.isdecimal() and len(value) < MIN_BASE64 and name.replace("-", "").isalnum():
        return
    if "%" in value:
        value = percent_decoded(value)
    add(values, _HEADERS, name, f"{name}: {value}", base64=False)
    if len(value) >= MIN_BASE64 and (inside := base64_decoded(value)) is not None:
        add(values, _HEADERS, name, percent_decoded(inside))


def _credential(values: Values, name: str, value: str) -> None:
    """Add the user name and password of Basic, decoded once, or another credential as sent unless it is opaque."""
    scheme, _, encoded = value.partition(" ")
    decoded = basic_decoded(encoded[:MAX_HEADER]) if scheme.lower() == "basic" else None
    if decoded is not None:
        user, _, password = decoded.partition(":")
        values.put(_HEADERS, name, user.replace("\n", "\r"))
        if any(sign in password for sign in _IN_ATTACKS):
            values.put(_HEADERS, name, password.replace("\n", "\r"))
    is_opaque = _is_token(encoded.rstrip("= ").replace("+", "").replace("/", "")) and ".." not in encoded
    if len(value) > MAX_HEADER and (decoded is not None or not is_opaque):
        values.append((_HEADERS, name, UNINSPECTED + "header"))
    if not is_opaque:  # lenient servers skip what is not base64
        add(values, _HEADERS, name, value[:MAX_HEADER], base64=False)


def add_referer(values: Values, request: Addressed, value: str) -> None:
    """Add the values of a referer, and of the link from another site that it shows."""
    host, found = short_referer_values(value) if len(value) <= SHORT else _referer_values(value)
    for each in found:
        values.put(*each)
    if host and request.host is not None and host != request.host.name and "?" in request.uri:
        names = [part.partition("=")[0] for part in request.uri.partition("?")[2].split("&", MAX_SEPARATE)]
        values.put(_ARG_NAMES, None, FROM_ELSEWHERE + " ".join(names).replace("\n", "\r"))


def _referer_values(value: str) -> tuple[str, tuple[Value, ...]]:
    """Return the host of a referer, and its values to inspect."""
    address, _, query = value.partition("?")
    values = Values()
    if query:
        _arguments(values, _REFERER, query)
    if not is_plain_address(address):
        add(values, _REFERER, None, percent_decoded(address))
    host = address.partition("//")[2].partition("/")[0].partition(":")[0] if address[:4] == "http" else ""
    return host, tuple(values)


short_referer_values = lru_cache(maxsize=2048)(_referer_values)
"""Cached for referers of at most ``SHORT`` characters, because a page is the referer of all its resources."""


def _body(values: Values, request: AccessRequest) -> None:
    data = request.body or b""
    is_whole = request.body_is_whole and len(data) <= MAX_BODY
    if not is_whole and len(data) < MAX_BODY and request.header("content-encoding"):
        values.append((_BODY, None, FORM_MARK))  # packed in a way that the site may unpack
    is_cut = len(data) > MAX_READ
    body = Body(data[:MAX_READ], request.header("content-type"), request.method, is_whole=is_whole, is_cut=is_cut)
    if body.is_limited:
        values.limit_forms()
    rest: list[str] = []
    for found in body.texts:
        if found.is_field and values.are_texts(len(found.text), LONG) and not values.may_be_apart(found.text):
            rest.append(found.text)
            continue
        name, text, region, _ = values.judged(found)
        if region is _BODY:
            _note_layers(values, _BODY, text)
        add(values, region, name, percent_decoded(text) if region is _BODY and "%" in text else text)
    if rest:
        name, text, region, _ = rest_text("\f".join(rest))
        add(values, region, name, text, base64=False)
    for form in body.forms:
        if "%" in form:
            _note_layers(values, _BODY, form)
            values.has_texts = True
            raw, is_cut = raw_form.inspected(form)
            values.append((BodyRegion.RAW, None, raw))
            if is_cut:
                values.note(_BODY, "rest")
        _arguments(values, _BODY, form, request)
