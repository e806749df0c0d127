"""Session cookie domain: the hosts that browsers send the cookie to, by public suffix (RFC 6265). Pure, offline.

Host names are canonical (``gatewall.engine.hosts``). A registered domain is a host, or ``*.host``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList

from gatewall.engine.addresses import parse_address
from gatewall.engine.hosts import Authority
from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()  # takes 0.1 s, so once per process; the list is part of the package


@lru_cache(maxsize=1024)
def registrable_domain(host: str) -> str | None:
    """Return the widest domain that a cookie of this host may have: one label below a public suffix.

    None for IP literals, and for names that are public suffixes themselves, like ``localhost`` and ``co.uk``.
    """
    if host.startswith("[") or parse_address(host) is not None:
        return None
    return _suffixes().privatesuffix(host)


def public_suffix(host: str) -> str | None:
    """Return the public suffix of a host name, None for an IP literal."""
    if host.startswith("[") or parse_address(host) is not None:
        return None
    return _suffixes().publicsuffix(host)


def is_within(host: str, domain: str) -> bool:
    """Return whether a host is the domain or below it."""
    return host == domain or host.endswith(f".{domain}")


def host_of(url: str) -> str:
    """Return the host of a public URL."""
    authority = Authority.of_url(url)
    assert authority is not None, url  # noqa: S101 - validated with the configuration
    return authority.host.name


def guard_url(urls: Sequence[str], host: str) -> str:
    """Return the public URL of the guard page for the sites of this host: under the same parent, else the first."""
    if len(urls) == 1:
        return urls[0]
    for url in urls:
        guard = host_of(url)
        if is_within(host, registrable_domain(guard) or guard):
            return url
    return urls[0]


def derived_domain(guard: str, names: Iterable[str]) -> str | None:
    """Return the smallest cookie domain for the guard page's host and the registered domains under its parent.

    None if no other host needs the cookie. Domains under other parents do not count: no cookie reaches them.
    """
    parent = registrable_domain(guard)
    smallest, is_needed = guard, False
    for name in names:
        host = name.removeprefix("*.")
        if parent is None or name == guard or not is_within(host, parent):
            continue
        is_needed = True
        while not is_within(host, smallest):
            smallest = smallest.partition(".")[2]
    return smallest if is_needed else None


def relying_party_id(guard: str, configured: str | None) -> str | None:
    """Return the RP id of passkeys (WebAuthn level 2, section 5.1.2) for the host of a guard page, or None.

    It is the configured cookie domain, or the host's registrable parent. The derived cookie domain is not used: it
    changes with the registered domains, and a passkey is bound to its RP id for good.
    """
    if configured is not None and is_within(guard, configured):
        return configured
    return registrable_domain(guard) or (guard if is_within(guard, "localhost") else None)


@dataclass(frozen=True, slots=True)
class CookieScope:
    """The host that sets the session cookie, and the cookie's ``Domain``; None limits the cookie to that host."""

    guard: str
    domain: str | None = None

    def reaches(self, name: str) -> bool:
        """Return whether browsers send the cookie to a host, or to every host of ``*.host``."""
        if self.domain is None:
            return name == self.guard
        return is_within(self.guard, self.domain) and is_within(name.removeprefix("*."), self.domain)


@dataclass(frozen=True, slots=True)
class Unreached:
    """Why browsers do not send the session cookie to a site, and what an operator can do: parts of sentences."""

    why: Message
    fix: Message


def why_unreached(scope: CookieScope, name: str, urls: Sequence[str]) -> Unreached:
    """Return why the cookie does not reach a registered domain, and the remedy."""
    host, guard = name.removeprefix("*."), scope.guard
    parent = registrable_domain(guard)
    if scope.domain is not None and not is_within(guard, scope.domain):
        return Unreached(
            Message(
                _("GATEWALL_COOKIE_DOMAIN is %(domain)s, and browsers refuse such a cookie from %(host)s"),
                domain=scope.domain,
                host=guard,
            ),
            Message(_("leave GATEWALL_COOKIE_DOMAIN unset: it is derived then")),
        )
    if parent is None:
        below = registrable_domain(host) or "example.com"
        return Unreached(
            Message(_("browsers send a cookie of %(guard)s to no other host"), guard=guard),
            Message(
                _("set GATEWALL_PUBLIC_URL to a host under the domain of your sites, like %(url)s"),
                url=f"https://wall.{below}",
            ),
        )
    if is_within(host, parent):
        return Unreached(
            Message(
                _("GATEWALL_COOKIE_DOMAIN is %(domain)s, and browsers send the cookie only to hosts below it"),
                domain=scope.domain or guard,
            ),
            Message(_("set GATEWALL_COOKIE_DOMAIN to %(parent)s, or leave it unset"), parent=parent),
        )
    return _under_another_parent(guard, host, parent, urls)


def _under_another_parent(guard: str, host: str, parent: str, urls: Sequence[str]) -> Unreached:
    suffix, other = public_suffix(guard), registrable_domain(host)
    if suffix is not None and guard == parent and is_within(host, suffix):
        return Unreached(
            Message(
                _("%(suffix)s is a public suffix, so browsers share no cookie between %(guard)s and %(host)s"),
                suffix=suffix,
                guard=guard,
                host=host,
            ),
            Message(
                _("give both a common domain, like wall.example.%(suffix)s and app.example.%(suffix)s"), suffix=suffix
            ),
        )
    why = Message(_("browsers send a cookie of %(guard)s only to hosts below %(parent)s"), guard=guard, parent=parent)
    if other is None:
        return Unreached(why, Message(_("give the site a host name below %(parent)s"), parent=parent))
    return Unreached(
        why,
        Message(
            _("add a guard page under %(other)s: GATEWALL_PUBLIC_URL=%(urls)s"),
            other=other,
            urls=",".join([*urls, urls[0].replace(guard, f"wall.{other}") if urls else f"https://wall.{other}"]),
        ),
    )
