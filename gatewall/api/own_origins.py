"""Origins of the guard page."""

from django.conf import settings


def public_urls() -> tuple[str, ...]:
    """Return the addresses of the guard page, the first is home; empty if it is under the host of each site."""
    home = settings.GATEWALL_PUBLIC_URL
    return (home, *settings.GATEWALL_OTHER_PUBLIC_URLS) if home else ()
