"""Authorize callers of metrics and health details: trusted networks, or the metrics token. Pure."""

import hmac
from contextlib import suppress
from dataclasses import dataclass, field

from gatewall.kernel.clientip import ForwardedForMalformed, TrustedProxies, client_address


@dataclass(frozen=True, slots=True)
class TrustedCallers:
    """Callers in ``GATEWALL_TRUSTED_PROXIES``, or with the ``GATEWALL_METRICS_TOKEN`` if one is set."""

    networks: TrustedProxies
    token: str | None = field(repr=False)

    def includes(self, peer: str, forwarded_for: str | None, authorization: str) -> bool:
        """True if the client, behind any trusted proxies, is in a trusted network, or sends the token as ``Bearer``.

        Header values are latin-1 text. A client with a malformed chain is in no network.
        """
        with suppress(ForwardedForMalformed):
            if self.networks.trusts(client_address(peer, forwarded_for, self.networks)):
                return True
        scheme, _, sent = authorization.partition(" ")
        if self.token is None or scheme.lower() != "bearer":
            return False
        return hmac.compare_digest(sent.strip().encode("utf-8", "surrogateescape"), self.token.encode())
