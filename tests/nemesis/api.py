"""Client of several control planes that retries until one responds."""

import http.client
import json
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support.processes import PASSWORD

_PATIENCE_SECONDS = 20
_ATTEMPTS_SECONDS = 900
"""Timeout in seconds, longer than any fault, including ten minutes without stores."""


class Response(NamedTuple):
    """A response of a control plane, and its host."""

    host: str
    status: int
    body: dict[str, Any]


class Api:
    """The first admin at each control plane in turn."""

    def __init__(self, planes: dict[str, tuple[str, int]]) -> None:
        """``planes`` has the address of each host's control plane."""
        self._planes = planes
        self._turn = 0
        self.stop = threading.Event()
        self.failed = 0
        """Attempts without a response or with a 5xx."""
        self._token = ""
        self._token = self.until_answered("POST", "/login", {"username": "admin", "password": PASSWORD}).body["token"]

    def until_done(
        self,
        method: str,
        path: str,
        fields: Callable[[], dict[str, Any] | None],
        *,
        token: str = "",
        done: tuple[int, ...] = (),
    ) -> Response:
        """Retry until a 2xx or, after an interrupted attempt that may have taken effect, a status in ``done``."""
        cut_off = False
        end = time.monotonic() + _ATTEMPTS_SECONDS
        while time.monotonic() < end:
            answer = self._ask(method, path, fields(), token)
            if answer is not None and answer.status // 100 == 2:
                return answer
            if answer is not None and answer.status < 500 and answer.status != 429:
                assert cut_off and answer.status in done, (method, path, answer)  # noqa: PT018 - one reason
                return answer
            cut_off = True
            time.sleep(0.2)
        raise AssertionError(f"{method} {path} was not answered for {_ATTEMPTS_SECONDS} s")

    def until_answered(self, method: str, path: str, fields: dict[str, Any] | None = None) -> Response:
        """Retry until there is a response other than 5xx."""
        end = time.monotonic() + _ATTEMPTS_SECONDS
        while time.monotonic() < end:
            answer = self._ask(method, path, fields, "")
            if answer is not None and answer.status < 500 and answer.status != 429:
                return answer
            time.sleep(0.2)
        raise AssertionError(f"{method} {path} was not answered for {_ATTEMPTS_SECONDS} s")

    def find(self, path: str, fields: dict[str, Any]) -> int:
        """Return the id of the object created with these fields."""
        names = [name for name in ("ip", "name", "username", "country_code", "domain") if name in fields]
        rows = self.until_answered("GET", f"{path}?all=true").body["results"]
        (found,) = [row["id"] for row in rows if all(row[name] == fields[name] for name in names)]
        return int(found)

    def at_once(self, number: int, method: str, path: str) -> list[Response | None]:
        """Send concurrent equal requests; return the responses, None for no response."""
        found: list[Response | None] = []
        threads = [
            threading.Thread(target=lambda: found.append(self._ask(method, path, {}, "")), daemon=True)
            for _ in range(number)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    def _ask(self, method: str, path: str, fields: dict[str, Any] | None, token: str) -> Response | None:
        """Send a request to the next control plane; return None without a response."""
        self._turn += 1
        host, (address, port) = list(self._planes.items())[self._turn % len(self._planes)]
        connection = http.client.HTTPConnection(address, port, timeout=_PATIENCE_SECONDS)
        headers = {"Content-Type": "application/json", "Service-Authorization": token or self._token}
        try:
            body = None if fields is None else json.dumps(fields)
            connection.request(method, f"/wall{path}", body, headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException):
            self.failed += 1
            return None
        finally:
            connection.close()
        self.failed += response.status >= 500
        return Response(host, response.status, json.loads(text) if text else {})
