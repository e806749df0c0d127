"""Requests with bodies, for tests of the WAF."""

from gatewall.engine.waf.judge import request_of
from gatewall.engine.waf.reading import values_of
from gatewall.engine.waf.rules import Target

FORM = "application/x-www-form-urlencoded"
PARTS = "multipart/form-data; boundary=b"


def request(body, kind="", method="POST", headers=()):
    named = [(b"content-type", kind.encode("latin-1"))] if kind else []
    return request_of(method.encode(), b"/", [*named, *headers], body.encode() if isinstance(body, str) else body)


def texts(body, kind, method="POST"):
    others = {Target.PATH, Target.HEADERS}
    return [value for value in values_of(request(body, kind, method)) if value[0] not in others]


def form_data(*parts, boundary="b", kind=PARTS):
    lines = "".join(f"--{boundary}\r\n{head}\r\n\r\n{content}\r\n" for head, content in parts)
    return f"{lines}--{boundary}--\r\n".encode("latin-1"), kind


def field(name, extra=""):
    return f'Content-Disposition: form-data; name="{name}"{extra}'


BINARY = "\x89PNG\x00\x01\x02"
SHORT = "';drop table u--"  # shorter than a run of readable characters in a file
