"""Client address of a control-plane request, and the Django request behind a DRF request."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from gatewall.engine.hosts import Authority
from gatewall.kernel.clientip import Caller, client_of_environ

_FORWARDING = ("HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")
_FORWARDED = "HTTP_X_FORWARDED_"
_amr: list[Callable[[HttpRequest | Request], tuple[str, ...]]] = []


def caller_of(request: HttpRequest | Request) -> Caller | None:
    """Return the client of a policy change for the lock-out check, or None for a caller on this machine.

    Local callers bypass proxy and lists, so no change can lock them out. A loopback peer with a forwarding header is a
    proxy.
    """
    address = client_of_environ(request.META, settings.GATEWALL_TRUSTED_PROXIES)
    forwarded = [name for name in request.META if name in _FORWARDING or name.startswith(_FORWARDED)]
    if address.is_loopback and not forwarded:
        return None
    authority = Authority.parse(request.META.get("HTTP_HOST", ""))
    names_client = bool(request.META.get("HTTP_X_FORWARDED_FOR", "").strip(", \t"))
    user = request.user if request.user.is_authenticated else None
    return Caller(
        address,
        authority.host if authority else None,
        allowlist_applies=names_client or not forwarded,
        user_id=user.pk if user else None,
        amr=_amr[0](request) if user and _amr else (),
    )


def find_amr_with(amr_of: Callable[[HttpRequest | Request], tuple[str, ...]]) -> None:
    """Register the function that returns the authentication methods (``amr``) of a request's session."""
    _amr[:] = [amr_of]


def django_request(request: Request) -> HttpRequest:
    """Return the Django request that a DRF request wraps."""
    wrapped: HttpRequest = request._request  # noqa: SLF001 - DRF's own views use it
    return wrapped
