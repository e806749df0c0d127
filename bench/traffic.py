"""Generate requests of many visitors, so that no two records are alike.

Most are page loads with a session; some have none, some attack, some come from blocked networks and countries. Hosts,
clients and paths are Zipf-distributed.
"""

import random
from pathlib import Path

from bench.site import browser_headers, http
from tests.support.mmdb import write_mmdb

CLIENT_HEADER = "X-Bench-Client"
"""Header with the client's address for nginx (``real_ip_header``)."""
BELIEVE_CLIENT_HEADER = f"set_real_ip_from 127.0.0.1; real_ip_header {CLIENT_HEADER};"
_CLIENTS = 3000
_SECTIONS = ("projects", "issues", "wiki", "files", "people", "reports", "calendar", "search")
ATTACKS = (
    "/search?q=%3Cscript%3Ealert(1)%3C/script%3E",
    "/files?name=../../../../etc/passwd",
    "/issues?id=1%20UNION%20SELECT%20password%20FROM%20users--",
    "/cgi-bin/status?cmd=;cat%20/etc/shadow",
)
_COUNTRIES = {"203.0.0.0/16": "NZ", "192.0.0.0/16": "DE", "2001:db8::/33": "FR", "100.64.0.0/16": "KP"}


def geo_database(path: Path) -> Path:
    """Write a geo database of these visitors' countries, one of them blocked; return its path."""
    return write_mmdb(path, {network: {"country": {"iso_code": code}} for network, code in _COUNTRIES.items()})


def requests(tokens: tuple[str, ...], number: int, *, seed: int) -> list[bytes]:
    """Return this many requests, determined by the seed."""
    chance = random.Random(seed)  # noqa: S311 - examples, no secrets
    return [_request(tokens, chance) for _ in range(number)]


def _request(tokens: tuple[str, ...], chance: random.Random) -> bytes:
    kind = chance.random()
    if kind < 0.05:
        return _asked(client(chance), chance.choice(ATTACKS), _headers(chance.choice(tokens)), chance)
    if kind < 0.08:
        return _asked(
            f"198.18.{chance.randrange(1, 200)}.{zipf_number(250, chance)}", page(chance), _headers(""), chance
        )
    if kind < 0.1:
        return _asked(f"100.64.0.{zipf_number(250, chance)}", page(chance), _headers(""), chance)
    if kind < 0.2:
        return _asked(client(chance), page(chance), _headers(""), chance)
    return _asked(client(chance), page(chance), _headers(chance.choice(tokens)), chance)


def _asked(client: str, target: str, headers: list[str], chance: random.Random) -> bytes:
    host = f"app{zipf_number(50, chance)}.example.com"
    return http(target, host, [*headers, f"{CLIENT_HEADER}: {client}"])


def _headers(token: str) -> list[str]:
    headers = browser_headers(token)
    return headers if token else [line for line in headers if not line.startswith("Cookie")]


def client(chance: random.Random) -> str:
    """Return the address of a random visitor."""
    number = zipf_number(_CLIENTS, chance)
    if number % 5 == 0:
        return f"2001:db8:0:{number:x}::{number:x}"
    return f"{'203.0' if number % 3 else '192.0'}.{number >> 8}.{number & 255}"


def page(chance: random.Random) -> str:
    """Return the target of a random page load."""
    path = f"/{chance.choice(_SECTIONS)}/{zipf_number(5000, chance)}"
    return f"{path}?tab=open&page={chance.randrange(9)}&sort=-updated" if chance.random() < 0.4 else path


def zipf_number(number: int, chance: random.Random) -> int:
    """Return a Zipf-distributed number below this one."""
    return int(number ** chance.random()) - 1 if number > 1 else 0
