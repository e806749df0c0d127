"""Validate the URL of the site to examine: the doctor only visits registered domains. Pure."""

from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from gatewall.engine.hosts import Authority, DomainTable, Host
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Invalid

_PORTS = {"http": 80, "https": 443}
_MAX_URL = 2000
_NOT_IN_A_PATH = frozenset(' \\"<>^`{|}#?')


class TargetRefused(Invalid):
    """The doctor does not examine this target."""

    code = "target-refused"
    field = "url"


@dataclass(frozen=True, slots=True)
class Target:
    """A protected site and the path below which it is examined. ``path`` has no trailing slash."""

    scheme: str
    host: Host
    port: int
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> "Target":
        """Parse a URL of scheme, host, port and path only. Raises TargetRefused."""
        if len(text) > _MAX_URL or not (text.isascii() and text.isprintable()):
            raise TargetRefused(_("that is not a URL of ASCII characters"))
        try:
            parts = urlsplit(text)
        except ValueError:
            raise TargetRefused(_("that is not a URL")) from None
        if parts.scheme not in _PORTS:
            raise TargetRefused(_("a URL of a site begins with http:// or https://"))
        authority = Authority.of_url(text)
        if authority is None:
            raise TargetRefused(_("the URL names no host, or more than a host and a port"))
        if not _NOT_IN_A_PATH.isdisjoint(text.partition("://")[2]):
            raise TargetRefused(_("only a path may follow the host, no query or fragment"))
        port = _PORTS[parts.scheme] if authority.port is None else authority.port
        if not port:
            raise TargetRefused(_("port 0 is not valid"))
        return cls(parts.scheme, authority.host, port, parts.path.rstrip("/"))

    @property
    def authority(self) -> str:
        return self.host.name if self.port == _PORTS[self.scheme] else f"{self.host.name}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def unencrypted(self) -> "Target":
        """The same site over http, as a proxy asks it: with the same ``Host``."""
        port = _PORTS["http"] if self.port == _PORTS[self.scheme] else self.port
        return replace(self, scheme="http", port=port)

    def __str__(self) -> str:
        return f"{self.origin}{self.path}/"


def require_ours(target: Target, domains: DomainTable, public_url: str | None) -> None:
    """Raise TargetRefused unless the host is registered or that of our own pages.

    The mode ``any`` makes no difference: the doctor must not visit arbitrary hosts.
    """
    own = Authority.parse(urlsplit(public_url).netloc) if public_url else None
    if domains.match(target.host) is None and (own is None or own.host != target.host):
        raise TargetRefused(_("%(host)s is not a registered domain; register it first"), host=target.host.name)
