"""Groups of operations in the OpenAPI document, in the order in which Swagger UI shows them."""

from collections.abc import Mapping
from typing import NamedTuple


class Tag(NamedTuple):
    """A group: what it is for, and the first segments of its paths; ``policy/`` stands for all below it."""

    text: str
    roots: tuple[str, ...]


TAGS: Mapping[str, Tag] = {
    "Sign-in": Tag(
        "Sessions for people: password, second factor, passkeys, reset and recovery.",
        ("login", "admin-login", "session", "logout", "password-reset", "admin-recover-2fa"),
    ),
    "Users": Tag(
        "People, what they may enter, and their credentials; identity providers.",
        ("users", "groups", "grants", "identity-providers"),
    ),
    "Machines": Tag("Credentials of programs.", ("licenses", "api-tokens")),
    "Sites": Tag(
        "Domains, access rules, and profiles of applications.", ("authorized-domains", "access-rules", "app-profiles")
    ),
    "Lists": Tag(
        "Blocked and allowed networks and countries, and lists that are fetched.",
        ("ip-black-list", "ip-white-list", "geo-block-rules", "list-subscriptions"),
    ),
    "WAF": Tag("Rules that look for attacks.", ("waf-rules",)),
    "Policy": Tag(
        "The policy as a whole: its history, what a change would do, and why a request is answered as it is.",
        ("policy",),
    ),
    "Logs": Tag("The access log, security events, and figures.", ("access-logs", "security-events", "dashboard")),
    "Webhooks": Tag("Notices of security events to other systems.", ("webhooks",)),
    "System": Tag("Settings, health, metrics, and this document.", ("system", "health", "metrics", "schema", "docs")),
}
_OF_ROOT = {root: name for name, tag in TAGS.items() for root in tag.roots}


def tag_of(path: str) -> str:
    """Return the group of a path below the API's root. Raises KeyError for one that belongs to none."""
    return _OF_ROOT[path.strip("/").partition("/")[0]]


def described() -> list[dict[str, str]]:
    """Return the groups as the ``tags`` of an OpenAPI document."""
    return [{"name": name, "description": tag.text} for name, tag in TAGS.items()]
