"""Admin list columns of policy rows: number of uses, and last use; requests of domains."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from audit.figures.statistics import Window, summaries
from audit.figures.used_resources import hits_of, last_hit_of, note_uses

_HITS, _LAST_HIT = _("hits"), _("last hit")


class RowsWithUses(ChangeList):
    """A page of a list with the uses of its rows, read in one query."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        page: Any = self.model_admin
        note_uses(page.use_kind, self.result_list)


class DomainsWithRequests(ChangeList):
    """A page of a list of domains with their requests of 24 hours, read from the roll-ups in one query."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        counted = summaries(Window.until(timezone.now(), timedelta(days=1)), ["host"])["host"].counts
        for row in self.result_list:
            row.requests = sum(number for host, number in counted.items() if _is_of(host, row.name))


def _is_of(host: str, domain: str) -> bool:
    """Return whether a host belongs to this domain: is equal to it or, for ``*.name``, below it."""
    return host.endswith(domain[1:]) if domain.startswith("*.") else host == domain


class UsedRowsAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """List rows with their uses. Subclasses set ``use_kind`` and their columns with ``use_columns``."""

    use_kind: ClassVar[str]

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return RowsWithUses


def use_columns(
    kind: str, *, log_filter: str = "", count: Any = _HITS, last: Any = _LAST_HIT
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the columns of the number of uses and of the last use, both sortable.

    ``log_filter``: the log filter by the id of such a row; with it, the number is a link to the row's requests.
    """
    prefix = "" if log_filter == "rule_id" else f"{kind}:"

    @admin.display(description=count, ordering=hits_of(kind))
    def hits(_page: Any, row: Any) -> Any:
        if not row.use.count or not log_filter:
            return row.use.count
        query = urlencode({log_filter: f"{prefix}{row.pk}"})
        return format_html('<a href="{}?{}">{}</a>', reverse("console:log"), query, row.use.count)

    @admin.display(description=last, ordering=last_hit_of(kind), empty_value="-")
    def last_hit(_page: Any, row: Any) -> Any:
        return row.use.last_at

    return hits, last_hit
