"""Requests of the real clients of well-known apps, and attacks on neighboring paths, from ``app_clients``."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("app_clients")
ATTACKS = {
    "dots": "dot segments, also encoded",
    "parameters": "..;/ and path parameters",
    "slashes": "repeated, encoded and backward slashes",
    "prefix": "a longer name that begins like an open path",
    "method": "a method that no client sends there",
    "neighbor": "the next path, which the clients do not need",
    "interface": "web pages, sign-in and administration",
    "case": "another letter case",
}


@dataclass(frozen=True)
class ClientRequest:
    """A request of a client, the source that shows it, and the rule of the profile that lets it through."""

    app: str
    rule: str
    method: str
    uri: str
    headers: tuple[tuple[str, str], ...]
    source: str


@dataclass(frozen=True)
class Attack:
    """A request that no rule of the app's profile may let through. ``kind``: a key of ``ATTACKS``."""

    app: str
    kind: str
    method: str
    uri: str


@cache
def _read(app: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{app}.toml").read_text(encoding="utf-8"))


def apps() -> list[str]:
    """Return the names of the apps with requests, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def requests_of(app: str) -> list[ClientRequest]:
    """Return the requests of all clients of an app. ``METHOD PATH -> PATH`` has a Destination (RFC 4918)."""
    return [
        ClientRequest(app, rule, method, uri, (*client["headers"].items(), *_destination(path)), client["source"])
        for client in _read(app)["clients"]
        for rule, lines in client["requests"].items()
        for line, _, path in (each.partition(" -> ") for each in lines)
        for method, uri in [line.split()]
    ]


def _destination(path: str) -> tuple[tuple[str, str], ...]:
    return (("Destination", path),) if path else ()


def attacks_on(app: str) -> list[Attack]:
    """Return the attacks on an app."""
    return [
        Attack(app, kind, method, uri)
        for kind, lines in _read(app)["attacks"].items()
        for method, uri in map(str.split, lines)
    ]
