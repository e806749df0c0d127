"""POST a body to a URL an operator configured: SSRF-safe, one attempt, bounded time. Pure.

It uses no proxy, follows no redirect, and reads only the status of the response.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gatewall.kernel.downloads import Reach
from gatewall.kernel.exchanges import ExchangeFailed, opened


@dataclass(frozen=True, slots=True)
class Posted:
    """Result of a POST: the response status, or the failure. Contains no body, query or password."""

    status: int | None = None
    failure: str = ""

    @property
    def is_taken(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def post(url: str, body: bytes, headers: Mapping[str, str], *, reach: Reach, seconds: float) -> Posted:
    """Send the body and return the result; raises nothing, and gives up after ``seconds``."""
    try:
        with opened("POST", url, body, headers, reach=reach, seconds=seconds) as response:
            return Posted(response.status)
    except ExchangeFailed as failed:
        return Posted(failure=str(failed))
