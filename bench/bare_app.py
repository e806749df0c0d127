"""The least that an ASGI application can do: the ceiling of the data plane under the same server."""

from typing import Any

_HEADERS = [(b"content-length", b"0")]


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answer 200 to everything."""
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": b""})
