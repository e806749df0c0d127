"""Wait until addresses respond: `gatewall up` starts this file as a separate process, which then ends."""

import http.client
import json
import sys
import time
from contextlib import suppress
from urllib.parse import urlsplit

READY_SECONDS = 60.0
_MOST_READ = 65536
_FIXES = {"policy": "`gatewall publish-policy` publishes it, or says why it cannot be published"}
"""Commands that fix a failed health check, by its name."""


def answers(url: str) -> bool:
    """Return whether `url` responds with content or with the gate's own decision."""
    return _get(url)[0] in {200, 302, 401, 403}


def reported_problem(url: str) -> str:
    """Return the problem that a health page reports, with its fix; empty if it reports none or is unreachable."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        failing = {name: problem for name, problem in json.loads(_get(url)[1])["checks"].items() if problem != "ok"}
        cures = [_FIXES[name] for name in failing if name in _FIXES]
        return "; ".join([f"{name}: {problem}" for name, problem in failing.items()] + cures)
    return ""


def _get(url: str) -> tuple[int, bytes]:
    """Return status and body of a page; 0 and nothing on failure."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
    try:
        connection.request("GET", parts.path, headers={"Accept": "text/html, */*;q=0.8"})
        response = connection.getresponse()
        return response.status, response.read(_MOST_READ)
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def wait_for(urls: list[str]) -> str:
    """Wait until every address responds; return an empty text, or after 60 s which one did not and why."""
    deadline = time.monotonic() + READY_SECONDS
    for url in urls:
        while not answers(url):
            if time.monotonic() > deadline:
                problem = f" ({text})" if (text := reported_problem(url)) else ""
                return f"{url} did not answer within {READY_SECONDS:.0f} s{problem}"
            time.sleep(0.1)
    return ""


def main() -> None:
    """Print the lines of the second argument once the addresses of the first respond (both are JSON lists of texts).

    Otherwise write to stderr what is wrong, and end with 1.
    """
    urls, lines = (json.loads(argument) for argument in sys.argv[1:])
    if trouble := wait_for(urls):
        sys.exit(trouble)
    sys.stdout.write("\n".join([*lines, ""]))  # in one write: lines of other processes do not come between
    sys.stdout.flush()


if __name__ == "__main__":
    main()
