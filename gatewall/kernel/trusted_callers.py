"""May this caller see metrics and health details? Trusted networks, or the metrics token. Pure."""

import hmac
from dataclasses import dataclass, field

from gatewall.kernel.clientip import ForwardedForMalformed, TrustedProxies, client_address

_SCHEME = "bearer"


@dataclass(frozen=True, slots=True)
class TrustedCallers:
    """The networks of ``GATEWALL_TRUSTED_PROXIES`` and the token of ``GATEWALL_METRICS_TOKEN``, if there is one."""

    networks: TrustedProxies
    token: str | None = field(repr=False)

    def includes(self, peer: str, forwarded_for: str | None, authorization: str) -> bool:
        """Return True if the client's address or the token says so. Header values are latin-1 text."""
        return self.in_network(peer, forwarded_for) or self.has_token(authorization)

    def in_network(self, peer: str, forwarded_for: str | None) -> bool:
        """Return True if the client, behind any trusted proxies, is in a trusted network.

        A chain that cannot be read names no client: False.
        """
        try:
            return self.networks.trusts(client_address(peer, forwarded_for, self.networks))
        except ForwardedForMalformed:
            return False

    def has_token(self, authorization: str) -> bool:
        """Return True if this is ``Bearer`` with the token."""
        scheme, _, sent = authorization.partition(" ")
        if self.token is None or scheme.lower() != _SCHEME:
            return False
        return hmac.compare_digest(sent.strip().encode("utf-8", "surrogateescape"), self.token.encode())
