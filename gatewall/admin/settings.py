"""Django admin page of the system settings: one row that is only changed."""

import re
from itertools import pairwise
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from gatewall.api.service_admin import ServiceAdmin, actor
from gatewall.api.translation import translated
from gatewall.models import SystemSettings
from gatewall.models.settings import GROUPS
from gatewall.policy import system_settings
from policies import cookie_reach

_ONLY = "1"
_ACRONYMS = re.compile(r"\b(?:api|cpu|waf)\b", re.IGNORECASE)


class SystemSettingsAdmin(ServiceAdmin):
    """The current settings, by default unsaved."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> SystemSettings | None:
        return system_settings.current() if object_id == _ONLY else None

    def changeform_view(self, request: HttpRequest, *arguments: Any, **path: Any) -> HttpResponse:
        """Return the page, which says where visitors sign in and which hosts the session cookie is for."""
        if request.method == "GET":
            messages.info(request, translated(cookie_reach.in_words()))
            link = format_html('<a href="{}?kind=system/settings">{}</a>', reverse("console:backtests"), _("Backtest"))
            messages.info(request, link)
        shown: HttpResponse = super().changeform_view(request, *arguments, **path)
        return shown

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Return the field of a setting, with acronyms in its label as people write them."""
        field = super().formfield_for_dbfield(db_field, request, **options)
        if field is not None:
            field.label = _ACRONYMS.sub(lambda found: found[0].upper(), str(field.label))
        return field

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        names = [column.name for column in SystemSettings.columns()]
        ends = [*(names.index(first) for first in GROUPS.values()), len(names)]
        return [
            (title, {"fields": names[start:end]}) for title, (start, end) in zip(GROUPS, pairwise(ends), strict=True)
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return redirect("admin:gatewall_systemsettings_change", _ONLY)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def change_row(self, request: HttpRequest, row: SystemSettings, **values: Any) -> None:
        system_settings.change(actor=actor(request), **values)
