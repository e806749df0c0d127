"""Subrequests of a proxy in the dialect of ``/auth``."""

from gatewall.gate.subrequest import auth
from tests.support.cast import NOW, PROXY, TRUSTED, a_subrequest

FULL = {
    "x_forwarded_for": "1.2.3.4",
    "x_forwarded_host": "office.example",
    "x_forwarded_proto": "https",
    "x_forwarded_method": "POST",
    "x_forwarded_uri": "/path?q=1",
    "host": "gatewall.internal",
}


def ask(*, peer=PROXY, scheme="http", trusted=TRUSTED, **headers):
    return auth(a_subrequest(peer=peer, scheme=scheme, **headers), trusted, NOW)


def with_full(**headers):
    """Parse a subrequest with every forwarding header, some of them replaced; None omits a header."""
    return ask(**{name: value for name, value in (FULL | headers).items() if value is not None})
