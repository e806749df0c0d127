"""The relying party of passkeys: the domain that browsers bind them to, and the origins of our pages (WebAuthn)."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from gatewall.api.own_origins import public_urls
from gatewall.engine.hosts import Authority
from gatewall.kernel.cookie_domain import guard_url, host_of, is_within, relying_party_id


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """RP id, and the origins whose pages may use its passkeys."""

    id: str
    origins: tuple[str, ...]


def relying_party_of(authority: str) -> RelyingParty | None:
    """Return the relying party of the guard page under this host and port, None if it cannot use passkeys.

    Browsers support passkeys neither for IP addresses nor over plain HTTP, except on ``localhost``.
    """
    parsed, urls = Authority.parse(authority), public_urls()
    if urls:
        home = guard_url(urls, parsed.host.name if parsed else "")
        return _party(host_of(home), (home,), settings.GATEWALL_COOKIE_DOMAIN if home == urls[0] else None)
    if parsed is None:
        return None
    origins = (f"https://{parsed}", f"http://{parsed}")
    return _party(parsed.host.name, origins, settings.GATEWALL_COOKIE_DOMAIN)


def _party(host: str, origins: Sequence[str], configured: str | None) -> RelyingParty | None:
    rp_id, is_local = relying_party_id(host, configured), is_within(host, "localhost")
    secure = tuple(origin for origin in origins if is_local or origin.startswith("https://"))
    return RelyingParty(rp_id, secure) if rp_id and secure else None
