"""Summary of one domain for its page: its rules, requests by path, exclusions. Bounded queries."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from audit.figures.used_resources import note_uses
from audit.log import at_domain
from audit.models import AccessLog
from policies.models import AccessRule, AuthorizedDomain, DevicePass, Grant, Group, ShareLink, WafRule
from policies.resources import ACCESS_RULES

MAX_ROWS = 2_000
"""Maximum number of requests that the paths are counted from: the newest ones."""
MAX_PATHS = 15
MAX_LISTED = 50
DAYS = 7


@dataclass(frozen=True, slots=True)
class PathCount:
    """A first segment of the path, with the requests that the gate let through, challenged and refused there."""

    path: str
    allowed: int
    challenged: int
    refused: int

    @property
    def requests(self) -> int:
        return self.allowed + self.challenged + self.refused


@dataclass(frozen=True, slots=True)
class RecentRequests:
    """The newest requests to a domain; ``since`` is the time of the oldest that was read, None without any."""

    number: int
    since: datetime | None
    paths: Sequence[PathCount]
    reasons: Sequence[tuple[str, int]]
    """Why requests were refused, the most frequent first."""


def rules_of(domain: AuthorizedDomain) -> list[AccessRule]:
    """Return the enabled access rules that apply to the domain, in their order, with their uses."""
    rows = AccessRule.objects.filter(Q(domains=domain) | Q(domains=None), enabled=True).order_by("position").distinct()
    found = list(rows.prefetch_related("domains", "groups", "users")[:MAX_LISTED])
    note_uses(ACCESS_RULES.logged_as, found)
    return found


def groups_of(domain: AuthorizedDomain) -> list[Group]:
    """Return the groups whose members may enter the domain, by name."""
    rows = Group.objects.filter(Q(authorized_domains=domain) | Q(all_domains=True)).order_by("name").distinct()
    return list(rows[:MAX_LISTED])


def grants_of(domain: AuthorizedDomain, at: datetime) -> list[Grant]:
    """Return the grants at the domain that are in force, those that end first."""
    rows = Grant.objects.filter(domain=domain, expires_at__gt=at).select_related("user", "group").order_by("expires_at")
    return list(rows[:MAX_LISTED])


def passes_of(domain: AuthorizedDomain, at: datetime) -> list[ShareLink | DevicePass]:
    """Return the share links and device passes for the domain that are in force, those that end first."""
    models: tuple[Any, ...] = (ShareLink, DevicePass)
    live = (model.objects.filter(domain=domain, expires_at__gt=at).order_by("expires_at") for model in models)
    return sorted((row for rows in live for row in rows[:MAX_LISTED]), key=lambda row: row.expires_at)[:MAX_LISTED]


def exclusions_of(domain: AuthorizedDomain) -> list[dict[str, Any]]:
    """Return the WAF rules with the exclusions that apply to the domain."""
    rows = WafRule.objects.filter(Q(domain=domain) | Q(domain=None)).exclude(exclusions=[]).order_by("name")
    shown = ({"id": row.pk, "name": row.name, "exclusions": _here(row.exclusions, domain.name)} for row in rows)
    return [each for each in shown if each["exclusions"]][:MAX_LISTED]


def _here(exclusions: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [each for each in exclusions if each.get("domain") in {None, name}]


def recent_requests(domain: AuthorizedDomain, at: datetime) -> RecentRequests:
    """Return the newest requests of the last days, by the first segment of their path."""
    rows = AccessLog.objects.filter(at__gte=at - timedelta(days=DAYS), at__lt=at)
    found, _since = at_domain.newest_values(domain.name, rows, ("at", "path", "outcome", "reason"), MAX_ROWS)
    counted = Counter((_first_segment(path), outcome) for _at, path, outcome, _reason in found)
    reasons = Counter(reason for _at, _path, outcome, reason in found if outcome != "allow")
    paths = [_path_count(path, counted) for path in {path for path, _outcome in counted}]
    paths.sort(key=lambda each: (-each.refused, -each.requests, each.path))
    return RecentRequests(len(found), found[-1][0] if found else None, paths[:MAX_PATHS], reasons.most_common(5))


def _first_segment(path: str) -> str:
    first, slash, _rest = path[1:].partition("/")
    return f"/{first}{slash}"[:200]


def _path_count(path: str, counted: "Counter[tuple[str, str]]") -> PathCount:
    refused = counted[path, "deny"] + counted[path, "error"]
    return PathCount(path, counted[path, "allow"], counted[path, "challenge"], refused)
