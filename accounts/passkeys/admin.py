"""Django admin page of passkeys: rename and remove. Keys are never shown."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from accounts import browser
from accounts.models import Passkey
from accounts.passkeys import services
from gatewall.api.fresh_deletion import FreshDeletionAdmin
from gatewall.api.service_admin import actor

_METADATA = ("user", "rp_id", "transports", "backed_up", "created_at", "created_by", "last_used_at")


@admin.register(Passkey)
class PasskeyAdmin(FreshDeletionAdmin):
    list_display = ("name", "user", "rp_id", "backed_up", "created_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("name", "user__username")
    readonly_fields = _METADATA
    fields = ("name", *readonly_fields)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # users register their own, in their browsers

    def change_row(self, request: HttpRequest, row: Passkey, **values: Any) -> Passkey:
        return services.rename(row, values["name"])

    def delete_row(self, request: HttpRequest, row: Passkey) -> None:
        services.remove(row, actor=actor(request), client_ip=browser.visitor(request).client_ip)
