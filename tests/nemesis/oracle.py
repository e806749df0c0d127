"""The decision table of docs/decisions.md once more, slow and without the product: what answers are held against.

A world is a dict of what is in force: a key that begins with the kind, and the values that count. It knows what the
town asks about and no more: questions are well-formed, list entries are made by hand, sessions have no second factor.
"""

import ipaddress
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import unquote

Key = tuple[str | None, ...]
World = Mapping[Key, Mapping[str, Any]]
SETTINGS: Key = ("settings",)
COUNTRIES = {"203.0.113.128/26": "NZ", "203.0.113.192/26": "IS"}
"""The countries that the geo database of the town knows."""
_address, _network = cache(ipaddress.ip_address), cache(ipaddress.ip_network)
_BUILT_IN_ATTACK = re.compile(r"union\s+select", re.IGNORECASE)
_THRESHOLD = 5


class Question(NamedTuple):
    """What a proxy asks about. A credential is a kind and the key of what it stands for."""

    client: str
    host: str
    uri: str = "/"
    kind: str = ""
    credential: str = ""


class Verdict(NamedTuple):
    """The status and the reason of an answer."""

    status: int
    reason: str


def decide(world: World, question: Question) -> Verdict:
    """The one right answer in this world."""
    blocked, allowed = _lists(world, question)
    if blocked:
        return Verdict(403, "client-blocked")
    name = _domain(world, question.host)
    if name is None or world["domain", name]["access"] == "denied":
        return Verdict(403, "host-not-authorized")
    if allowed and not allowed["inspect"]:
        return Verdict(200, "client-allowed")
    settings = world[SETTINGS]
    if settings["geo_mode"] == "block" and ("country", _country(question.client)) in world:
        return Verdict(403, "country-blocked")
    if settings["waf_mode"] == "block" and _is_attack(world, name, question.uri):
        return Verdict(403, "waf-rule")
    if allowed:
        return Verdict(200, "client-allowed")
    if world["domain", name]["access"] == "public":
        return Verdict(200, "host-public")
    return _by_credential(world, question, name)


def _lists(world: World, question: Question) -> tuple[bool, Mapping[str, Any] | None]:
    """Whether the most specific entry blocks the client, and the entry that allows it."""
    client, best, blocked, allowed = _address(question.client), -1, False, None
    for key, values in world.items():
        if key[0] not in ("block", "allow"):
            continue
        network = _network(str(key[1]))
        if client.version != network.version or client not in network:
            continue
        if key[0] == "allow" and key[2] is not None and key[2] != _domain(world, question.host):
            continue
        if network.prefixlen > best:
            best, blocked, allowed = network.prefixlen, False, None
        if network.prefixlen == best:
            blocked = blocked or key[0] == "block"
            allowed = values if key[0] == "allow" else allowed
    return blocked, None if blocked else allowed


def _domain(world: World, host: str) -> str | None:
    """The registered name that stands for a host: itself, else the longest wildcard."""
    if ("domain", host) in world:
        return host
    labels = host.split(".")
    for first in range(1, len(labels)):
        if ("domain", wildcard := "*." + ".".join(labels[first:])) in world:
            return wildcard
    return None


def _country(client: str) -> str | None:
    address = _address(client)
    found = [code for network, code in COUNTRIES.items() if address in _network(network)]
    return found[0] if found else None


def _is_attack(world: World, domain: str, uri: str) -> bool:
    if _BUILT_IN_ATTACK.search(unquote(uri)):
        return True
    scores = [
        rule["score"]
        for key, rule in world.items()
        if key[0] == "rule" and rule["enabled"] and rule["action"] == "block"
        if rule["domain"] in (None, domain) and rule["pattern"] in uri
    ]
    return bool(sum(scores) >= _THRESHOLD)


def _by_credential(world: World, question: Question, domain: str) -> Verdict:
    if not question.kind:
        return Verdict(401, "credential-missing")
    found = world.get((question.kind, question.credential))
    if found is None or not found.get("is_active", True):
        return Verdict(401, "credential-invalid")
    subject = found
    if question.kind in ("session", "git"):
        owner = world.get(("user", found["user"]))
        if owner is None or not owner["is_active"]:
            return Verdict(401, "credential-invalid")
        subject = owner
    named = not subject["all_domains"] and domain in subject["authorized_domains"]
    if not (subject.get("is_admin") or subject["all_domains"] or named):
        return Verdict(403, "host-not-in-scope")
    if world["domain", domain]["access"] == "two_factor" and not (question.kind != "session" and named):
        return Verdict(401, "second-factor-required")
    return Verdict(
        200, {"session": "session-valid", "git": "git-token-valid", "license": "license-valid"}[question.kind]
    )
