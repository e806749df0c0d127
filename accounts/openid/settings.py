"""Settings of a provider for the OpenID Connect client, as plain values."""

from dataclasses import dataclass, field

from gatewall.kernel.downloads import PUBLIC, Reach


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """A provider: its issuer, and this installation's client id and secret there. Without a secret: a public client."""

    key: int
    issuer: str
    client_id: str
    client_secret: str | None = field(repr=False)
    scopes: tuple[str, ...] = ("openid",)
    allow_private: bool = False

    @property
    def reach(self) -> Reach:
        """The addresses that requests may go to: https only, or http for a loopback issuer."""
        return reach_of(self.issuer, allow_private=self.allow_private)


def reach_of(issuer: str, *, allow_private: bool) -> Reach:
    """Return the addresses that a provider may have: public https ones, or private ones if an administrator allowed it.

    A provider that is not on this machine cannot make Gatewall send requests to it in clear text.
    """
    return Reach(http=False, http_from_here=issuer.startswith("http:"), private=True) if allow_private else PUBLIC
