"""The sidebar of the console: its sections, and the item that a page belongs to.

An item leads to an operator page or to the list of a model. A registered model that no section names is added to the
section of its app, so a new admin page is in the sidebar without a change here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from policies.models import AUTO_BAN


@dataclass(frozen=True, slots=True)
class Page:
    """An item that leads to an operator page; ``others`` are the views whose pages belong to it."""

    view: str
    label: Promise
    others: tuple[str, ...] = ()

    @property
    def views(self) -> tuple[str, ...]:
        return (self.view, *self.others)


@dataclass(frozen=True, slots=True)
class Shortcut:
    """An item that leads to a part of another page: some of its rows (``query``), or a heading (``fragment``)."""

    view: str
    label: Promise
    query: str = ""
    fragment: str = ""
    arguments: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        ends = (sign + text for sign, text in (("?", self.query), ("#", self.fragment)) if text)
        return "".join((reverse(self.view, args=self.arguments), *ends))

    def is_shown(self, request: HttpRequest) -> bool:
        """Return whether the page shows the rows of this shortcut."""
        wanted = parse_qsl(self.query)
        is_there = request.path == reverse(self.view, args=self.arguments)
        return bool(wanted) and is_there and all(request.GET.get(name) == value for name, value in wanted)


Item = Page | Shortcut | str


@dataclass(frozen=True, slots=True)
class Section:
    """A group of items: pages, shortcuts, labels of models. Models of ``apps`` that no section names follow."""

    label: Promise
    items: tuple[Item, ...]
    apps: tuple[str, ...] = ()


ALONE = (
    Page("overview", _("Overview"), ("dashboard",)),
    Page("log", _("Live log"), ("find", "keep-view", "change-view", "ban", "allow", "explain-receipt")),
    "audit.securityevent",
)
"""The items above the sections."""
SECTIONS = (
    Section(
        _("Sites"),
        (
            "policies.authorizeddomain",
            "policies.accessrule",
            Page("app-profiles", _("App profiles")),
            Page("suggested-rules", _("Suggested rules")),
            Page("who-can-enter", _("Who can enter?")),
            Page("first-site", _("Protect a site")),
        ),
    ),
    Section(
        _("People"),
        (
            "accounts.user",
            "policies.group",
            "policies.grant",
            Page("access-requests", _("Access requests"), ("access-request",)),
            "accounts.identityprovider",
        ),
        ("accounts",),
    ),
    Section(_("Machines"), ("licensing.license", "licensing.gittoken", "accounts.apitoken"), ("licensing",)),
    Section(
        _("Protection"),
        (
            "policies.blocklistentry",
            "policies.allowlistentry",
            "policies.listsubscription",
            Page("import", _("Import a list")),
            "policies.geoblockrule",
            "policies.wafrule",
            Shortcut("admin:gatewall_systemsettings_change", _("WAF settings"), fragment="waf", arguments=("1",)),
            Shortcut("admin:policies_blocklistentry_changelist", _("Bans"), query=f"source={AUTO_BAN}"),
            Page("blast-radius", _("Blast radius")),
        ),
        ("policies",),
    ),
    Section(
        _("Policy"),
        (
            Page("history", _("History"), ("history-revision", "confirmation")),
            Page("plans", _("Plan"), ("plan", "policy-export")),
            Shortcut("console:plans", _("Policy document"), query="document=current"),
            Page("shadow", _("Shadow policy")),
            Page("backtests", _("Backtest"), ("backtest",)),
            Page("explain", _("Explain")),
            "policies.expectation",
        ),
    ),
    Section(
        _("System"),
        (
            "gatewall.systemsettings",
            Page("doctor", _("Proxy doctor")),
            "webhooks.webhook",
            Page("hosts", _("Hosts")),
            Page("backup", _("Backup")),
        ),
        ("gatewall", "webhooks", "audit"),
    ),
)
_MODEL_OF_PAGE = {"waf-report": "policies.authorizeddomain", "site": "policies.authorizeddomain"}
"""Operator pages about one row of a model."""
NOT_PAGES = frozenset({"search", "site-of-host", "log-rows"})
"""Views that are no pages of their own."""
