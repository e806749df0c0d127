"""Each condition of an access rule, judged by itself: true, false, or none if the proxy did not show what it needs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from tests.access_rules.paths import path_covers
from tests.access_rules.shapes import Request, Rule
from tests.access_rules.windows import is_in_window


@dataclass(frozen=True)
class Situation:
    """What the conditions of a rule are compared with, but for the subject."""

    request: Request
    domain: str | None  # the registered name that covers the host
    reading: str | None  # one reading of the path; none if the proxy did not show the URI


@dataclass(frozen=True)
class Subject:
    """Somebody who is proved."""

    kind: str  # session, git-token, license
    username: str | None  # none for a license
    license: str | None  # its name
    groups: frozenset[str]
    amr: frozenset[str]  # empty but for sessions


def is_live(expires_at: str | None, at: str) -> bool:
    """True before the moment of expiry. Times of one format sort as text."""
    return expires_at is None or at < expires_at


def _domains(rule: Rule, situation: Situation) -> bool:
    return not rule["domains"] or situation.domain in rule["domains"]


def _paths(rule: Rule, situation: Situation) -> bool | None:
    if not rule["paths"]:
        return True
    reading = situation.reading
    return (
        None if reading is None else any(path_covers(path["match"], path["value"], reading) for path in rule["paths"])
    )


def _methods(rule: Rule, situation: Situation) -> bool | None:
    if not rule["methods"]:
        return True
    if rule["access"] == "public" and rule["methods"] == ["OPTIONS"] and not situation.request["preflight"]:
        return False
    method = situation.request["method"]
    return None if method is None else method in rule["methods"]


def _networks(rule: Rule, situation: Situation) -> bool | None:
    if not rule["networks"]:
        return True
    client = situation.request["client"]
    covered = any(_address(client) in _network(network) for network in rule["networks"])
    return covered if situation.request["client_shown"] else None


def _countries(rule: Rule, situation: Situation) -> bool | None:
    if not rule["countries"]:
        return True
    return situation.request["country"] in rule["countries"] if situation.request["client_shown"] else None


def _asns(rule: Rule, situation: Situation) -> bool | None:
    if not rule["asns"]:
        return True
    return situation.request["asn"] in rule["asns"] if situation.request["client_shown"] else None


def _enabled(rule: Rule, situation: Situation) -> bool:
    return rule["enabled"]


REQUEST_CONDITIONS: dict[str, Callable[[Rule, Situation], bool | None]] = {  # in the order of judging
    "enabled": _enabled,
    "expires_at": lambda rule, situation: is_live(rule["expires_at"], situation.request["at"]),
    "domains": _domains,
    "paths": _paths,
    "methods": _methods,
    "networks": _networks,
    "countries": _countries,
    "asns": _asns,
    "time": lambda rule, situation: is_in_window(rule, situation.request["at"]),
}
SUBJECT_CONDITIONS: dict[str, Callable[[Rule, Subject], bool]] = {
    "groups": lambda rule, subject: not rule["groups"] or not subject.groups.isdisjoint(rule["groups"]),
    "users": lambda rule, subject: not rule["users"] or subject.username in rule["users"],
    "credential_kinds": lambda rule, subject: not rule["credential_kinds"] or subject.kind in rule["credential_kinds"],
}


def has_subject_condition(rule: Rule) -> bool:
    """True if the rule cannot be judged before somebody is proved."""
    return bool(rule["groups"] or rule["users"] or rule["credential_kinds"])


@lru_cache
def _address(text: str) -> IPv4Address | IPv6Address:
    return ip_address(text)


@lru_cache
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text)
