"""Oracle: the decision table of docs/decisions.md, reimplemented slowly and without the product.

A world is a dict of what is in force: keys begin with the kind. It covers only what the workload asks: well-formed
requests, manual list entries, sessions without second factor.
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
"""The countries in the workload's geo database."""
_address, _network = cache(ipaddress.ip_address), cache(ipaddress.ip_network)
_BUILT_IN_ATTACK = re.compile(r"union\s+select", re.IGNORECASE)
_THRESHOLD = 5


class Question(NamedTuple):
    """The facts of a request; a credential is its kind and the key of its owner."""

    client: str
    host: str
    uri: str = "/"
    kind: str = ""
    credential: str = ""


class Verdict(NamedTuple):
    """Status and reason of an answer."""

    status: int
    reason: str


def decide(world: World, question: Question) -> Verdict:
    """Return the right answer in this world."""
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
    """Return whether the most specific entry blocks the client, and the entry that allows it."""
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
    """Return the registered name that matches a host: itself, else the longest wildcard."""
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
    scopes = [subject, *(world[group] for name in subject.get("groups", ()) if (group := ("group", name)) in world)]
    named = any(not scope["all_domains"] and domain in scope["authorized_domains"] for scope in scopes)
    if not (subject.get("is_admin") or named or any(scope["all_domains"] for scope in scopes)):
        return Verdict(403, "host-not-in-scope")
    if world["domain", domain]["access"] == "two_factor" and not (question.kind != "session" and named):
        return Verdict(401, "second-factor-required")
    return Verdict(
        200, {"session": "session-valid", "git": "git-token-valid", "license": "license-valid"}[question.kind]
    )
