"""The sidebar of the console: its sections, and the item that a page belongs to.

An item leads to an operator page or to the list of a model. A registered model that no section names is added to the
section of its app, so a new admin page is in the sidebar without a change here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
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
    Page("overview", _("Dashboard"), ("dashboard",)),
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
            "policies.sharelink",
            "policies.devicepass",
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
_MODEL_OF_PAGE = {
    "waf-report": "policies.authorizeddomain",
    "site": "policies.authorizeddomain",
    "try-rule": "policies.wafrule",
}
"""Operator pages about one row of a model."""
NOT_PAGES = frozenset({"search", "site-of-host", "log-rows"})
"""Views that are not pages."""


@dataclass(frozen=True, slots=True)
class Link:
    """An item as shown to one user."""

    label: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ShownSection:
    """A section as shown to one user; ``label`` is empty for the items above the sections."""

    label: str
    links: Sequence[Link]

    @property
    def is_current(self) -> bool:
        return any(link.is_current for link in self.links)


def sidebar(request: HttpRequest) -> list[ShownSection]:
    """Return the sections and items that the user may see."""
    current = current_item(request)
    pages = registered()
    shown = [ShownSection("", list(_links(request, ALONE, pages, current)))]
    for section in SECTIONS:
        links = list(_links(request, items_of(section), pages, current))
        shown += [ShownSection(str(section.label), links)] if links else []
    return shown


def items_of(section: Section) -> tuple[Item, ...]:
    """Return the items of a section, with the models of its apps that no section names."""
    return (*section.items, *_unnamed(section.apps))


@cache
def _unnamed(app_labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the models of these apps that no section names; they are the same for every user."""
    named = {item for each in (ALONE, *(each.items for each in SECTIONS)) for item in each if isinstance(item, str)}
    return tuple(label for label in registered() if label not in named and label.partition(".")[0] in app_labels)


def current_item(request: HttpRequest) -> str:
    """Return the URL of the shortcut, the view name or the label of the model that the page belongs to, or ""."""
    match = request.resolver_match
    if match is None or match.url_name is None:
        return ""
    shortcuts = (item for item in _all_items() if isinstance(item, Shortcut))
    if shortcut := next((each for each in shortcuts if each.is_shown(request)), None):
        return shortcut.url
    if match.namespace == "console":
        pages = (item for item in _all_items() if isinstance(item, Page))
        found = next((page.view for page in pages if match.url_name in page.views), "")
        return found or _MODEL_OF_PAGE.get(match.url_name, "")
    app, _separator, rest = match.url_name.partition("_")
    label = f"{app}.{rest.partition('_')[0]}"
    return label if label in registered() else ""


def _all_items() -> Iterator[Item]:
    yield from ALONE
    for section in SECTIONS:
        yield from items_of(section)


@cache
def registered() -> "dict[str, admin.ModelAdmin[Any]]":
    """Return the admin page of each registered model by the model's label; cached, because all register at start."""
    models = [model for model in apps.get_models() if admin.site.is_registered(model)]
    return {model._meta.label_lower: admin.site.get_model_admin(model) for model in models}  # noqa: SLF001 - Django's documented API


def _links(
    request: HttpRequest,
    items: Sequence[Item],
    pages: "dict[str, admin.ModelAdmin[Any]]",
    current: str,
) -> Iterator[Link]:
    for item in items:
        if isinstance(item, Page):
            yield Link(str(item.label), reverse(f"console:{item.view}"), item.view == current)
        elif isinstance(item, Shortcut):
            yield Link(str(item.label), item.url, item.url == current)
        elif item in pages and pages[item].has_view_or_change_permission(request):
            options = pages[item].opts
            url = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")
            yield Link(capfirst(str(options.verbose_name_plural)), url, item == current)
