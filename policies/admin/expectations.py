"""Read-only Django admin pages of expectations, which are changed only through the policy document."""

from django.contrib import admin

from gatewall.api.service_admin import ReadOnlyAdmin
from policies.models import Expectation


@admin.register(Expectation)
class ExpectationAdmin(ReadOnlyAdmin):
    list_display = ("name", "effect", "reason", "created_at", "created_by")
    list_filter = ("effect",)
    search_fields = ("name",)
    ordering = ("name",)
    fields = ("name", "request", "effect", "reason", "created_at", "created_by")
    readonly_fields = fields
