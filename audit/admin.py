"""Read-only Django admin pages of the security events."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from audit.models import SecurityEvent


@admin.register(SecurityEvent)
class SecurityEventAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    list_display = ("at", "kind", "severity", "count", "client_ip", "user_name")
    list_filter = ("severity", "kind")
    ordering = ("-at", "-id")
    list_per_page = 50
    show_full_result_count = False
    search_fields = ("client_ip", "user_name")
    fields = (
        *("kind", "severity", "at", "last_at", "count", "client_ip", "country_code", "user_name", "detail"),
        "decision_id",
    )
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: events are only written by the code that records them."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: events never change."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: only retention and ``gatewall prune-logs`` delete events."""
        return False
