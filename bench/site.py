"""An installation to measure, with all features on, and a browser's request to it."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_BASE = Path(__file__).resolve().parent.parent
_COUNTRIES = (
    "AF AL AM AO AZ BA BD BF BI BJ BO BW BY BZ CD CF CG CI CM CU DJ DZ EC EG ER ET GA GE GH GM "
    "GN GQ GW GY HN HT IR JO KE KG KH KM KP LA LB LK LR LS LY MG ML MM MN MR MW MZ NE NG SD SY"
)
"""Sixty blocked countries."""
_HOST = "app7.example.com"
_TARGET = "/projects/42/board?tab=open&sort=-updated&q=weekly+report"
_SETTINGS = ("GATEWALL_", "DATABASE_", "CACHE_", "GEOIP_", "ROOT_PATH", "DJANGO_")
_PREPARE = """
import sys
import django; django.setup()
from django.db import transaction
from django.utils import timezone
from accounts import services as accounts
from accounts.sign_in import login
from accounts.visitor import Visitor
from policies import services as policies
with transaction.atomic():  # published once
    admin = accounts.create_user(actor="bench", username="bench", password="bench bench bench", is_admin=True)
    for n in range(50):
        policies.register_domain(actor="bench", name=f"app{n}.example.com", access="authenticated")
    for n in range(1, 200):
        policies.block_network(actor="bench", network=f"198.18.{n}.0/24")
    for code in sys.argv[2].split():
        policies.block_country(actor="bench", country_code=code)
    people = [admin]
    for n in range(1, int(sys.argv[1])):
        people.append(accounts.create_user(actor="bench", username=f"person{n}", password="bench bench bench"))
visitor = Visitor("192.0.2.7", "bench")
for person in people:
    print(login.start_session(person, audiences=("gate",), amr=("pwd",), visitor=visitor, at=timezone.now()).text)
"""


@dataclass(frozen=True, slots=True)
class Site:
    """The installation's environment, a proxy's request about a visitor, and the visitor's own request.

    ``tokens`` are the sessions of its users, the admin's first.
    """

    environment: dict[str, str]
    subrequest: bytes
    request: bytes
    tokens: tuple[str, ...]


def installation_environment(home: Path) -> dict[str, str]:
    """Return the environment of an installation in this folder, with defaults for all other settings."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}
    return ours | {"GATEWALL_HOME": str(home), "DJANGO_SETTINGS_MODULE": "gatewall.settings"}


def prepared_site(home: Path, *, people: int = 1, **environ: str) -> Site:
    """Create an installation with this many users below the folder."""
    environment = installation_environment(home) | environ
    run_child(environment, "-m", "gatewall.credentials.keyfiles")
    run_child(environment, "manage.py", "migrate", "--verbosity=0")
    run_child(environment, "manage.py", "seed_waf_rules")
    tokens = tuple(run_child(environment, "-c", _PREPARE, str(people), _COUNTRIES).split()[-people:])
    return Site(environment, auth_request(browser_headers(tokens[0])), visitor_request(tokens[0]), tokens)


def visitor_request(token: str) -> bytes:
    """Return a browser's page load with this session, as received by a proxy."""
    return http(_TARGET, _HOST, browser_headers(token))


def auth_request(browser: list[str], *, client: str = "192.0.2.7") -> bytes:
    """Return a proxy's auth request about a browser's request with these headers."""
    forwarded = [
        f"X-Forwarded-For: {client}",
        f"X-Forwarded-Host: {_HOST}",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Method: GET",
        f"X-Forwarded-Uri: {_TARGET}",
    ]
    return http("/wall/auth", "gatewall", [*browser, *forwarded])


def browser_headers(token: str) -> list[str]:
    """Return the headers of a page load in a current browser: 16 with Host."""
    return [
        "Connection: keep-alive",
        'sec-ch-ua: "Chromium";v="142", "Not_A Brand";v="99"',
        "sec-ch-ua-mobile: ?0",
        'sec-ch-ua-platform: "Linux"',
        "Upgrade-Insecure-Requests: 1",
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36",
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
        "Sec-Fetch-Site: same-origin",
        "Sec-Fetch-Mode: navigate",
        "Sec-Fetch-User: ?1",
        "Sec-Fetch-Dest: document",
        "Referer: https://app7.example.com/projects?tab=all",
        "Accept-Encoding: gzip, deflate, br, zstd",
        "Accept-Language: en-GB,en;q=0.9,de;q=0.8",
        f"Cookie: theme=dark; sid=b1946ac92492d2347c6235b4d2611184; service.token={token}",
    ]


def http(target: str, host: str, headers: list[str]) -> bytes:
    """Return a GET request as bytes."""
    return "\r\n".join([f"GET {target} HTTP/1.1", f"Host: {host}", *headers, "", ""]).encode()


def run_child(environment: dict[str, str], *arguments: str) -> str:
    """Run Python with these arguments and return its output; exit if it fails."""
    done = subprocess.run(  # noqa: S603 - our own commands
        [sys.executable, *arguments], cwd=_BASE, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout
