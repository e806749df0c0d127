"""The rows of the policy, by subject: domains, groups, rules, IP lists, countries, subscriptions, expectations."""

from policies.models.access_requests import WAITS, RequestForAccess, RequestState, pending
from policies.models.access_rules import AccessRule
from policies.models.countries import GeoBlockRule
from policies.models.device_passes import DevicePass
from policies.models.domains import AuthorizedDomain
from policies.models.expectations import Expectation
from policies.models.grants import Grant
from policies.models.groups import Group
from policies.models.lists import AUTO_BAN, MANUAL, AllowlistEntry, BlocklistEntry
from policies.models.share_links import ShareLink, ShareLinkOpening
from policies.models.subscriptions import ListSubscription
from policies.models.waf import WafRule, default_targets

__all__ = [
    "AUTO_BAN",
    "MANUAL",
    "RESTORABLE",
    "WAITS",
    "AccessRule",
    "AllowlistEntry",
    "AuthorizedDomain",
    "BlocklistEntry",
    "DevicePass",
    "Expectation",
    "GeoBlockRule",
    "Grant",
    "Group",
    "ListSubscription",
    "RequestForAccess",
    "RequestState",
    "ShareLink",
    "ShareLinkOpening",
    "WafRule",
    "default_targets",
    "pending",
]

RESTORABLE = (
    *(AuthorizedDomain, Group, BlocklistEntry, AllowlistEntry, GeoBlockRule, WafRule, AccessRule, Grant, Expectation),
)
"""The models a restore covers, domains and groups first, because other rows refer to them.

``recorded`` describes a row in a revision; ``segments`` are compiled again after a change of a row.
"""
