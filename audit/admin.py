"""Read-only Django admin pages of the security events."""

from django.contrib import admin

from audit.models import SecurityEvent
from gatewall.api.service_admin import ReadOnlyAdmin


@admin.register(SecurityEvent)
class SecurityEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "kind", "severity", "count", "client_ip", "user_name")
    list_filter = ("severity", "kind")
    ordering = ("-at", "-id")
    search_fields = ("client_ip", "user_name")
    fields = (
        *("kind", "severity", "at", "last_at", "count", "client_ip", "country_code", "user_name", "detail"),
        "decision_id",
    )
    readonly_fields = fields
