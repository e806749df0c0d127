"""Which registered domains the session cookie reaches: the configured or derived cookie domain."""

from collections.abc import Iterator

from django.conf import settings

from gatewall.api.own_origins import public_urls
from gatewall.engine.hosts import Access
from gatewall.kernel.cookie_domain import (
    CookieScope,
    Unreached,
    derived_domain,
    guard_url,
    host_of,
    is_within,
    why_unreached,
)
from policies.models import AuthorizedDomain

_WITH_SIGN_IN = (Access.AUTHENTICATED, Access.TWO_FACTOR)


def scope_for(host: str) -> CookieScope:
    """Return the scope of the cookie that the guard page sets for the sites of this host."""
    urls = public_urls()
    if not urls:
        return CookieScope(host, settings.GATEWALL_COOKIE_DOMAIN)
    url = guard_url(urls, host)
    guard = host_of(url)
    if settings.GATEWALL_COOKIE_DOMAIN and url == urls[0]:
        return CookieScope(guard, settings.GATEWALL_COOKIE_DOMAIN)
    return CookieScope(guard, derived_domain(guard, _registered()))


def cookie_domain(host: str) -> str | None:
    """Return the ``Domain`` of a session cookie that is set under this host, None for a cookie of the host alone."""
    domain = scope_for(host).domain
    if domain == settings.GATEWALL_COOKIE_DOMAIN or domain is None:
        return domain
    return domain if is_within(host, domain) else None


def unreached(name: str) -> Unreached | None:
    """Return why browsers would not send the cookie to a registered domain, None if they do."""
    scope = scope_for(name.removeprefix("*."))
    return None if scope.reaches(name) else why_unreached(scope, name, public_urls())


def unreached_domains() -> Iterator[tuple[AuthorizedDomain, Unreached]]:
    """Yield the domains that people registered, where visitors must sign in and browsers do not send the cookie."""
    domains = AuthorizedDomain.objects.exclude(created_by="").filter(access__in=_WITH_SIGN_IN)
    for domain in domains.order_by("name"):
        if reason := unreached(domain.name):
            yield domain, reason


def _registered() -> list[str]:
    return list(AuthorizedDomain.objects.values_list("name", flat=True))
