"""Django admin page of authenticator apps: rename and remove. Secrets are never shown."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts import browser
from accounts.models import TotpDevice
from accounts.totp_devices import services
from gatewall.api.fresh_deletion import FreshDeletionAdmin
from gatewall.api.service_admin import actor


@admin.register(TotpDevice)
class TotpDeviceAdmin(FreshDeletionAdmin):
    list_display = ("__str__", "user", "created_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("name", "user__username")
    readonly_fields = ("user", "created_at", "last_used_at")
    fields = ("name", *readonly_fields)

    def get_queryset(self, request: HttpRequest) -> QuerySet[TotpDevice]:
        rows: QuerySet[TotpDevice] = super().get_queryset(request).filter(confirmed_at__isnull=False)
        return rows

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # users set up their own

    def change_row(self, request: HttpRequest, row: TotpDevice, **values: Any) -> TotpDevice:
        return services.rename(row, values["name"])

    def delete_row(self, request: HttpRequest, row: TotpDevice) -> None:
        services.remove(row, actor=actor(request), client_ip=browser.visitor(request).client_ip)
