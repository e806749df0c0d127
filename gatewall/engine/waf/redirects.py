"""Arguments that lead a visitor to another site. No I/O."""

from typing import Protocol

from gatewall.engine.hosts import Host
from gatewall.engine.waf.exclusions import Name
from gatewall.engine.waf.rules import Region
from gatewall.engine.waf.values import Values

ELSEWHERE = "\x01elsewhere "
"""Prefix of the value with the host of a redirect to another site."""
REDIRECTS = frozenset(
    {
        "back", "callback", "callback_url", "checkout_url", "continue", "dest", "destination", "forward", "go", "goto",
        "location", "next", "next_url", "out", "redir", "redirect", "redirect_to", "redirect_uri", "redirect_url",
        "redirecturl", "relaystate", "ret", "return", "return_path", "return_to", "return_url", "returnto", "returnurl",
        "success", "target", "to", "uri", "url",
    }
)  # fmt: skip
"""Names of arguments whose URLs applications redirect to."""


class Addressed(Protocol):
    """Target and host of a request: enough to inspect its target and referer."""

    @property
    def uri(self) -> str: ...

    @property
    def host(self) -> Host | None: ...


def add_redirect(values: Values, target: Region, name: Name, value: str, request: Addressed) -> None:
    """Mark a URL outside of the domain of the request's host."""
    own = request.host.name if request.host else ""
    authority = value.partition("//")[2].replace("\\", "/").partition("/")[0].partition("?")[0].partition("#")[0]
    host = authority.rpartition("@")[2].partition(":")[0].lower()
    parent = own.partition(".")[2]
    is_own = host == own or ("." in parent and (host == parent or host.endswith("." + parent)))
    if own and host and not is_own:
        values.append((target, name, ELSEWHERE + host.replace("\n", "\r")))
