"""Search of the console: pages, rows that their admin pages would find, an address, a decision, documentation.

Every query is bounded, and finds only rows and pages that the user may see.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from audit.models import AccessLog
from gatewall.console.help.help_page import documents, url_of
from gatewall.console.shell.navigation import registered, sidebar
from gatewall.console.site import links
from policies.models import AllowlistEntry, BlocklistEntry
from policies.validators import canonical_network

MAX_LENGTH = 200
MAX_FOUND = 6
"""Results of one kind."""
_BY_ADDRESS: tuple[type[BlocklistEntry | AllowlistEntry], ...] = (BlocklistEntry, AllowlistEntry)
_TOO_LARGE = frozenset({"audit.securityevent", *(model._meta.label_lower for model in _BY_ADDRESS)})  # noqa: SLF001 - Django's documented API
"""Tables without text search, because they may have millions of rows."""


@dataclass(frozen=True, slots=True)
class Found:
    """One result."""

    label: str
    url: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The results of one kind."""

    title: str
    results: Sequence[Found]
    more: str = ""
    """The URL of the list with all results, if there are more."""


def search(request: HttpRequest, text: str) -> list[Group]:
    """Return the results by kind; none for an empty text."""
    if not text:
        return []
    groups = (_decision(text), _address(text), _pages(request, text), *_rows(request, text), _help(text))
    return [group for group in groups if group and group.results]


def _decision(text: str) -> Group | None:
    try:
        decision_id = uuid.UUID(text)
    except ValueError:
        return None
    row = AccessLog.objects.filter(decision_id=decision_id).first()
    if row is None:
        return None
    label = f"{row.method} {row.host or '?'}{row.path}"[:120]
    return Group(_("Decision"), [Found(label, links.explain(decision_id), row.outcome)])


def _address(text: str) -> Group | None:
    try:
        network = canonical_network(text)
    except ValidationError:
        return None
    found = [Found(_("Requests from %(network)s") % {"network": network}, links.log(client_ip=network))]
    found += [
        Found(str(row), _change_url(row), str(model._meta.verbose_name))  # noqa: SLF001 - Django's documented API
        for model in _BY_ADDRESS
        for row in model._default_manager.filter(network=network)[:MAX_FOUND]  # noqa: SLF001 - the same
    ]
    found += [
        Found(_("Ban %(network)s") % {"network": network}, links.ban(network)),
        Found(_("Allow %(network)s") % {"network": network}, links.allow(network)),
    ]
    return Group(_("Address"), found)


def _pages(request: HttpRequest, text: str) -> Group:
    words = text.lower()
    found = [
        Found(link.label, link.url, section.label)
        for section in sidebar(request)
        for link in section.links
        if words in link.label.lower()
    ]
    return Group(_("Pages"), found[:MAX_FOUND])


def _help(text: str) -> Group:
    found = documents.find(text, MAX_FOUND)
    return Group(_("Help"), [Found(heading.text, url_of(heading.target), heading.page) for heading in found])


def _rows(request: HttpRequest, text: str) -> Iterator[Group]:
    for page in registered().values():
        options = page.opts
        if options.label_lower in _TOO_LARGE or not page.get_search_fields(request):
            continue
        if not page.has_view_or_change_permission(request):
            continue
        rows, _duplicates = page.get_search_results(request, page.get_queryset(request), text)
        found = list(rows.distinct()[: MAX_FOUND + 1])
        results = [Found(str(row), _change_url(row)) for row in found[:MAX_FOUND]]
        everything = f"{reverse(f'admin:{options.app_label}_{options.model_name}_changelist')}?{urlencode({'q': text})}"
        yield Group(capfirst(str(options.verbose_name_plural)), results, everything if len(found) > MAX_FOUND else "")


def _change_url(row: Model) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])  # noqa: SLF001 - Django's documented API
