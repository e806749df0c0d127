"""HTTP requests to a provider, with limits on time, size and concurrency."""

from collections.abc import Mapping
from http import HTTPStatus
from threading import BoundedSemaphore
from typing import Any

from accounts.openid.errors import ProviderFailed
from accounts.openid.settings import ProviderSettings
from gatewall.credentials.sessions import STRICT_JSON
from gatewall.kernel.exchanges import Answer, ExchangeFailed, exchange

SECONDS = 5.0
"""How long one request to a provider may take."""
LARGEST = 128 * 1024
_AT_ONCE = BoundedSemaphore(4)  # of the 8 threads of a worker: local sign-in still works if a provider is slow
_HEADERS = {"Accept": "application/json", "User-Agent": "Gatewall-OpenID/1"}


def ask(
    provider: ProviderSettings,
    method: str,
    url: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Send a request to a provider and return the response. Raises ProviderFailed."""
    if not _AT_ONCE.acquire(blocking=False):
        raise ProviderFailed("busy", "too many requests to providers at once")
    try:
        return exchange(
            method,
            url,
            body=body,
            headers={**_HEADERS, **(headers or {})},
            reach=provider.reach,
            seconds=SECONDS,
            at_most=LARGEST,
        )
    except ExchangeFailed as failed:
        raise ProviderFailed("unreachable", str(failed)) from None
    finally:
        _AT_ONCE.release()


def get_json(provider: ProviderSettings, url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Send a GET request and return the JSON object of a response with status 200. Raises ProviderFailed."""
    answer = ask(provider, "GET", url, headers=headers)
    if answer.status != HTTPStatus.OK:
        raise ProviderFailed("unexpected-answer", f"the answer was {answer.status}")
    return object_of(answer.body)


def object_of(body: bytes) -> dict[str, Any]:
    """Parse a JSON object without duplicate names. Raises ProviderFailed."""
    try:
        found = STRICT_JSON.decode(body.decode())
    except (ValueError, RecursionError):
        raise ProviderFailed("not-json", "the answer is no JSON") from None
    if not isinstance(found, dict):
        raise ProviderFailed("not-json", "the answer is no JSON object")
    return found
