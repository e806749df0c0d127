"""Authorize callers of metrics and health details: trusted networks, or the metrics token. Pure."""

import hmac
from dataclasses import dataclass, field

from gatewall.kernel.clientip import ForwardedForMalformed, TrustedProxies, client_address


@dataclass(frozen=True, slots=True)
class TrustedCallers:
    """``GATEWALL_TRUSTED_PROXIES``, and ``GATEWALL_METRICS_TOKEN`` if set."""

    networks: TrustedProxies
    token: str | None = field(repr=False)

    def includes(self, peer: str, forwarded_for: str | None, authorization: str) -> bool:
        """True if the client's address or the token is trusted. Header values are latin-1 text."""
        return self.in_network(peer, forwarded_for) or self.has_token(authorization)

    def in_network(self, peer: str, forwarded_for: str | None) -> bool:
        """True if the client, behind any trusted proxies, is in a trusted network; False for a malformed chain."""
        try:
            return self.networks.trusts(client_address(peer, forwarded_for, self.networks))
        except ForwardedForMalformed:
            return False

    def has_token(self, authorization: str) -> bool:
        """True for ``Bearer`` with the token."""
        scheme, _, sent = authorization.partition(" ")
        if self.token is None or scheme.lower() != "bearer":
            return False
        return hmac.compare_digest(sent.strip().encode("utf-8", "surrogateescape"), self.token.encode())
