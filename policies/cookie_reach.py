"""Reach of the session cookie: its configured or derived domain, and which registered domains browsers send it to."""

from collections.abc import Iterator, Sequence

from django.conf import settings

from gatewall.api.own_origins import public_urls
from gatewall.engine.hosts import Access, Authority
from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.cookie_domain import (
    CookieScope,
    Unreached,
    derived_domain,
    guard_url,
    host_of,
    is_within,
    registrable_domain,
    why_unreached,
)
from policies.models import AuthorizedDomain

_CONFIGURED = _("set by GATEWALL_COOKIE_DOMAIN")
_DERIVED = _("derived from the public URL and the registered domains")
_WITH_SIGN_IN = (Access.AUTHENTICATED, Access.TWO_FACTOR, Access.PHISHING_RESISTANT)


def scope_for(host: str, registered: Sequence[str] | None = None) -> CookieScope:
    """Return the scope of the session cookie that the guard page sets for the site at this host.

    ``registered`` are the names of the registered domains, by default read from the database.
    """
    urls = public_urls()
    if not urls:
        return CookieScope(host, settings.GATEWALL_COOKIE_DOMAIN)
    url = guard_url(urls, host)
    guard = host_of(url)
    if settings.GATEWALL_COOKIE_DOMAIN and url == urls[0]:
        return CookieScope(guard, settings.GATEWALL_COOKIE_DOMAIN)
    return CookieScope(guard, derived_domain(guard, _registered() if registered is None else registered))


def cookie_domain(host: str) -> str | None:
    """Return the ``Domain`` attribute of a session cookie that this host sets; None for a host-only cookie."""
    domain = scope_for(host).domain
    if domain == settings.GATEWALL_COOKIE_DOMAIN or domain is None:
        return domain
    return domain if is_within(host, domain) else None


def unreached(name: str, registered: Sequence[str] | None = None) -> Unreached | None:
    """Return why browsers would not send the session cookie to a host or registered domain; None if they send it."""
    if not public_urls() and not settings.GATEWALL_COOKIE_DOMAIN:
        return None  # the guard page is under each host, and so is its cookie
    scope = scope_for(name.removeprefix("*."), registered)
    return None if scope.reaches(name) else why_unreached(scope, name, public_urls())


def unreached_url(url: str) -> Unreached | None:
    """Return why browsers would not send the session cookie to the host of a URL; None if they send it."""
    authority = Authority.of_url(url)
    return unreached(authority.host.name) if authority else None


def unreached_domains() -> Iterator[tuple[AuthorizedDomain, Unreached]]:
    """Yield the domains that a person registered, that need a sign-in, and that browsers send no session cookie to."""
    domains = AuthorizedDomain.objects.exclude(created_by="").filter(access__in=_WITH_SIGN_IN)
    registered = _registered()
    for domain in domains.order_by("name"):
        if reason := unreached(domain.name, registered):
            yield domain, reason


def warning_about(domain: AuthorizedDomain) -> Message | None:
    """Return a warning if a registered domain needs a sign-in and the session cookie does not reach it, else None."""
    reason = unreached(domain.name) if domain.access in _WITH_SIGN_IN else None
    if reason is None:
        return None
    return Message(
        _("visitors of %(name)s cannot stay signed in, because %(why)s: %(fix)s"),
        name=domain.name,
        why=reason.why,
        fix=reason.fix,
    )


def in_words() -> Message:
    """Return a description for operators: where visitors sign in, and where browsers send the session cookie."""
    urls = public_urls()
    if not urls:
        if settings.GATEWALL_COOKIE_DOMAIN is None:
            return Message(_("Visitors sign in under the host of each site, and the session cookie is for that host."))
        return Message(
            _(
                "Visitors sign in under the host of each site. Browsers send the session cookie to %(domain)s and "
                "every host below it."
            ),
            domain=settings.GATEWALL_COOKIE_DOMAIN,
        )
    scope = scope_for(host_of(urls[0]))
    if scope.domain is None:
        return _words_for_one_host(urls[0], registrable_domain(scope.guard))
    return Message(
        _(
            "Visitors sign in at %(url)s. Browsers send the session cookie to %(domain)s and every host below it "
            "(%(source)s)."
        ),
        url=urls[0],
        domain=scope.domain,
        source=Message(_CONFIGURED if settings.GATEWALL_COOKIE_DOMAIN else _DERIVED),
    )


def _words_for_one_host(url: str, parent: str | None) -> Message:
    if parent is None:
        return Message(_("Visitors sign in at %(url)s. Browsers send the session cookie to no other host."), url=url)
    return Message(
        _(
            "Visitors sign in at %(url)s. The session cookie is for that host alone until you register sites "
            "below %(parent)s."
        ),
        url=url,
        parent=parent,
    )


def _registered() -> list[str]:
    """Return the names of the registered domains whose access is not denied: denied ones need no cookie."""
    return list(AuthorizedDomain.objects.exclude(access=Access.DENIED).values_list("name", flat=True))
