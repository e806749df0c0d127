"""``gatewall policy`` over the management API, with an API token. Pure.

Only https, or http from this machine. No redirect is followed, because it would send the token elsewhere; a proxy is
used for https only. ``SSL_CERT_FILE`` names other certificates.
"""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gatewall.kernel.downloads import BY_HAND, DownloadRefused, require_acceptable
from gatewall.management.policy.outcome import Exit, Failure, Json

TOKEN_VARIABLE = "GATEWALL_API_TOKEN"
_SECONDS = 120
_REPLAY_SECONDS, _PAUSE = 3600.0, 1.0
_UNFINISHED = frozenset({"queued", "running"})
_MAX_TOKEN = 4096
_MAX_ANSWER = 64 * 1024 * 1024
_REFUSALS = frozenset({400, 404, 409, 412, 413})
_NOT_FOUND = 404


class Remote:
    """The policy of a Gatewall that is reached over HTTP."""

    def __init__(self, url: str, token: str) -> None:
        try:
            require_acceptable(url, BY_HAND)
        except DownloadRefused as refused:
            raise Failure(Exit.CANNOT_RUN, f"--url: {refused}") from None
        self._url, self._token = url.rstrip("/"), token
        proxies = {name: proxy for name, proxy in urllib.request.getproxies().items() if name == "https"}
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies), _NoRedirects())

    def export(self, revision: int | None) -> str:
        query = "" if revision is None else f"?revision={revision}"
        return self._call("GET", f"/policy/document{query}", accept="application/yaml").decode()

    def schema(self) -> Json:
        return self._json("GET", "/policy/schema")

    def compare(self, document: str) -> Json:
        return self._json("POST", "/policy/document/compare", {"document": document})

    def plan(self, document: str, *, hours: int, replay: bool) -> Json:
        found = self._json("POST", "/policy/plan", {"document": document, "window": hours * 3600})
        ends = time.monotonic() + _REPLAY_SECONDS
        while replay and found["state"] in _UNFINISHED:
            if time.monotonic() > ends:
                raise Failure(
                    Exit.CANNOT_RUN, f"the replay of plan {found['id']} takes too long; is the agent running?"
                )
            time.sleep(_PAUSE)
            found = self._json("GET", f"/policy/plan/{found['id']}")
        return found

    def apply(self, document: str, options: Json) -> Json:
        revision, undo = options["if_revision"], options["undo_if_refused"]
        body = {
            "document": document,
            "if_revision": self.compare(document)["revision"] if revision is None else revision,
            "confirm_within_seconds": options["confirm_within"],
            "undo_if_refused": {"people": undo[0], "minutes": undo[1]} if undo else None,
            "force": options["force"],
        }
        return self._json("POST", "/policy/apply", body)

    def _json(self, method: str, path: str, body: Json | None = None) -> Json:
        try:
            found: Json = json.loads(self._call(method, path, body))
        except ValueError:
            raise Failure(Exit.CANNOT_RUN, f"{self._url} is not Gatewall: its answer is not JSON") from None
        return found

    def _call(self, method: str, path: str, body: Json | None = None, accept: str = "application/json") -> bytes:
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept, "Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, data, headers, method=method)  # noqa: S310 - checked above
        try:
            with self._opener.open(request, timeout=_SECONDS) as response:
                answer: bytes = response.read(_MAX_ANSWER + 1)
        except urllib.error.HTTPError as error:
            with error:
                raise _failure(error.code, _problem(error), path) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = getattr(error, "reason", None) or type(error).__name__
            raise Failure(Exit.CANNOT_RUN, f"{self._url} cannot be reached ({why})") from None
        if len(answer) > _MAX_ANSWER:
            raise Failure(Exit.CANNOT_RUN, f"the answer has more than {_MAX_ANSWER // 1024 // 1024} MiB")
        return answer


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: Any) -> None:
        """Follow no redirect, so that the redirect is the answer."""
        return


def _problem(error: urllib.error.HTTPError) -> Json:
    """Return the problem details of an answer, empty if it has none."""
    try:
        found = json.loads(error.read(_MAX_ANSWER))
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _failure(status: int, problem: Json, path: str) -> Failure:
    is_missing = status == _NOT_FOUND and not any(each.isdigit() for each in path)  # of a path without revision or id
    if "code" not in problem or is_missing:
        return Failure(Exit.CANNOT_RUN, f"the answer to {path} was {status}: is the root path in --url?")
    errors = [each for each in problem.get("errors", ()) if isinstance(each, dict) and "line" in each]
    code = Exit.REFUSED if status in _REFUSALS else Exit.CANNOT_RUN
    return Failure(code, f"{problem['code']}: {problem.get('detail', '')}", errors)


def token_of(file: str | None, environment: Mapping[str, str]) -> str:
    """Return the API token from its file or the environment. Raises Failure, whose message has no token."""
    try:
        text = Path(file).read_text("ascii")[: _MAX_TOKEN + 1] if file else environment.get(TOKEN_VARIABLE, "")
    except (OSError, ValueError) as error:
        raise Failure(Exit.CANNOT_RUN, f"--token-file cannot be read ({type(error).__name__})") from None
    token = text.strip()
    if not token:
        raise Failure(Exit.CANNOT_RUN, f"--url needs an API token: --token-file FILE, or {TOKEN_VARIABLE}")
    if len(token) > _MAX_TOKEN or not token.isascii() or not token.isprintable():
        raise Failure(Exit.CANNOT_RUN, "that is no API token")
    return token
