"""Host names: canonical form (IDNA, RFC 5952), and the registered domain that a host belongs to. No I/O."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv6Address

import idna

from gatewall.engine.addresses import is_port, parse_address
from gatewall.engine.identity_headers import DEFAULT_HEADERS
from gatewall.engine.messages import Refused
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.values import value

_LABEL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_MAX_NAME = 253  # RFC 1035 section 2.3.4, without the root dot
_MAX_HEADER = 1024  # longer than any name in UTF-8 with a port; bounds the IDNA work
_WILDCARD = "*."


@value
class Host:
    """A host name in lower case and A-labels, or an IP literal; without port or root dot."""

    name: str

    @classmethod
    def parse(cls, text: str) -> "Host | None":
        """Parse a host name or IP literal, or return None."""
        if text.startswith("["):
            return cls._parse_literal(text)
        name = _to_ascii(text)
        if name is None:
            return None
        name = name.removesuffix(".")
        if len(name) > _MAX_NAME:
            return None
        labels = name.split(".")
        if not all(map(_is_label, labels)):
            return None
        if labels[-1].isdigit() or labels[-1].startswith("0x"):
            # WHATWG URL "ends in a number": only a dotted quad is read as the same host by every parser.
            return cls(name) if parse_address(name) is not None else None
        return cls(name)

    @classmethod
    def _parse_literal(cls, text: str) -> "Host | None":
        if not text.endswith("]") or len(text) > _MAX_NAME or "%" in text:
            return None
        try:
            return cls(f"[{IPv6Address(text[1:-1]).compressed}]")  # RFC 5952
        except ValueError:
            return None


@value
class Authority:
    """A host with an optional port."""

    host: Host
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> "Authority | None":
        """Parse the authority of a ``Host`` header or URL, or return None; white space must be stripped before."""
        if len(text) > _MAX_HEADER:
            return None
        name, colon, port = text.rpartition(":")
        if not colon or text.endswith("]"):
            name, colon = text, ""
        if colon and not is_port(port):
            return None
        host = Host.parse(name)
        return cls(host, int(port) if colon else None) if host else None

    @classmethod
    def of_url(cls, url: str) -> "Authority | None":
        """Return the authority of an http or https URL, or None if URL parsers may disagree about it.

        They do about user info, white space, control characters, backslashes, escapes and empty ports.
        """
        scheme, separator, rest = url.partition("://")
        if not separator or scheme.lower() not in {"http", "https"}:
            return None
        end = min([rest.index(mark) for mark in "/?#" if mark in rest], default=len(rest))
        return cls.parse(rest[:end])

    def __str__(self) -> str:
        return self.host.name if self.port is None else f"{self.host.name}:{self.port}"


def _to_ascii(text: str) -> str | None:
    """Return the lower-case A-label form of a name (UTS 46, non-transitional), or None if it is invalid."""
    if len(text) > _MAX_HEADER:
        return None
    if text.isascii():
        lower = text.lower()
        return lower if "xn--" not in lower or _has_valid_a_labels(lower) else None
    try:
        return idna.encode(text, uts46=True, transitional=False).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        return None


def _has_valid_a_labels(name: str) -> bool:
    for label in name.split("."):
        if label.startswith("xn--"):
            try:
                idna.ulabel(label)
            except (idna.IDNAError, UnicodeError):
                return False
    return True


def _is_label(label: str) -> bool:
    return 0 < len(label) <= 63 and label[0] != "-" and label[-1] != "-" and _LABEL.issuperset(label)


class Access(StrEnum):
    """Access level of a registered domain or an access rule."""

    AUTHENTICATED = "authenticated"
    TWO_FACTOR = "two_factor"
    PHISHING_RESISTANT = "phishing_resistant"
    PUBLIC = "public"
    DENIED = "denied"


STRICTNESS = (
    Access.PUBLIC,
    Access.AUTHENTICATED,
    Access.TWO_FACTOR,
    Access.PHISHING_RESISTANT,
    Access.DENIED,
)
"""Access levels, the least strict first."""


@dataclass(frozen=True, slots=True)
class Domain:
    """A registered domain: an exact host, or ``*.host`` for every name below it.

    ``waf_monitor_until`` (seconds since the epoch): before it, the WAF refuses nothing here, it only records.
    ``identity_headers``: names of the headers that tell the site who the visitor is.
    """

    id: int
    name: str
    access: Access = Access.AUTHENTICATED
    waf_monitor_until: float | None = None
    identity_headers: tuple[str, ...] = DEFAULT_HEADERS


def parse_domain_name(text: str) -> str:
    """Return the canonical name of a domain to register: ``host`` or ``*.host``. Raises Refused."""
    text = text.strip()
    prefix = _WILDCARD if text.startswith(_WILDCARD) else ""
    host = Host.parse(text.removeprefix(prefix))
    if host is None or (prefix and (host.name.startswith("[") or parse_address(host.name))):
        raise Refused(
            _("%(text)s is not a host name, an IP literal or *.host (without scheme and port)"),
            text=repr(text[:_MAX_NAME]),
        )
    return prefix + host.name


class DomainTable:
    """Registered domains; the exact name wins, then the longest wildcard."""

    def __init__(self, domains: Iterable[Domain] = ()) -> None:
        self._by_name = {domain.name: domain for domain in domains}
        self.has_own_headers = any(each.identity_headers != DEFAULT_HEADERS for each in self._by_name.values())
        """Whether a domain has other identity headers than the default; if not, answers skip the lookup."""

    def all(self) -> Iterable[Domain]:
        """Return all domains."""
        return self._by_name.values()

    def match(self, host: Host | None) -> Domain | None:
        """Return the domain of a host, or None. ``*.x`` matches any depth below ``x``, but not ``x``."""
        if host is None:
            return None
        domain = self._by_name.get(host.name)
        rest = host.name
        while domain is None and "." in rest:
            rest = rest.partition(".")[2]
            domain = self._by_name.get(_WILDCARD + rest)
        return domain
