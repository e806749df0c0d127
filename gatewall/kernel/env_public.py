"""Read ``GATEWALL_PUBLIC_URL`` and ``GATEWALL_COOKIE_DOMAIN``, with one-line errors that say what to write. Pure."""

from dataclasses import replace
from urllib.parse import urlsplit

from gatewall.engine.addresses import parse_address
from gatewall.engine.hosts import Authority
from gatewall.kernel.cookie_domain import host_of, is_within, registrable_domain
from gatewall.kernel.env_reader import ConfigError

_DEFAULT_PORTS = {"http": 80, "https": 443}
_URL, _DOMAIN = "GATEWALL_PUBLIC_URL", "GATEWALL_COOKIE_DOMAIN"


def public_urls(text: str) -> tuple[str, ...]:
    """Return the addresses of the guard page: scheme and host, one per parent domain; the first is the default.

    Raises ConfigError.
    """
    if not text:
        return ()
    urls = tuple(_public_url(part.strip()) for part in text.split(","))
    if len(urls) > 1:
        _refuse_shared_parent(urls)
    return urls


def _refuse_shared_parent(urls: tuple[str, ...]) -> None:
    parents = [registrable_domain(host_of(url)) or host_of(url) for url in urls]
    if len({url.partition("://")[0] for url in urls}) > 1:
        raise ConfigError(f"{_URL} must have the same scheme in every address, not {','.join(urls)!r}")
    for number, parent in enumerate(parents):
        if parent in parents[:number]:
            raise ConfigError(f"{_URL} has two addresses under {parent}: one of them serves all sites there")


def _public_url(text: str) -> str:
    authority = Authority.of_url(text) if text.isprintable() and " " not in text else None
    parts = urlsplit(text) if authority else None
    if authority is None or parts is None:
        raise ConfigError(f"{_URL} must be like {_suggestion(text)}, with scheme and host, not {text!r}")
    if parts.path.strip("/") or parts.query or parts.fragment:
        without = f"{parts.scheme}://{authority}"
        raise ConfigError(f"{_URL} must be like {without}, without a path (that is ROOT_PATH), not {text!r}")
    if authority.port == _DEFAULT_PORTS[parts.scheme]:
        authority = replace(authority, port=None)  # browsers omit it in Origin (RFC 6454 section 6.2)
    return f"{parts.scheme}://{authority}"


def _suggestion(text: str) -> str:
    """Return the URL with the scheme that was forgotten, or an example."""
    without_scheme = Authority.parse(text.removesuffix("/"))
    return f"https://{without_scheme or 'wall.example.com'}"


def cookie_domain(text: str, urls: tuple[str, ...]) -> str | None:
    """Return the configured cookie domain, None to derive it. Raises ConfigError for one that browsers refuse."""
    if not text:
        return None
    authority = Authority.parse(text.removeprefix("."))
    if authority is None or authority.port is not None or "." not in authority.host.name:
        raise ConfigError(f"{_DOMAIN} must be a domain with a dot in it, not {text!r}")
    domain = authority.host.name
    if parse_address(domain) is not None:
        raise ConfigError(f"{_DOMAIN} must be a domain, not an address ({text!r}): leave it unset")
    if registrable_domain(domain) is None:
        raise ConfigError(
            f"{_DOMAIN} must not be a public suffix, for which browsers accept no cookie, not {text!r}: "
            f"use the domain of your sites, like example.{domain}"
        )
    if urls and not is_within(host_of(urls[0]), domain):
        raise ConfigError(
            f"{_DOMAIN} must be {host_of(urls[0])} or a parent of it, because browsers refuse other cookies "
            f"from {urls[0]}, not {text!r}: leave it unset to derive it"
        )
    return domain
