"""Django admin pages of licenses and git tokens. A token is shown once; its digest never."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from gatewall.api.service_admin import FreshForm, ShownOnceAdmin, actor
from gatewall.credentials.machine import MachineToken
from licensing import services
from licensing.models import GitToken, License

_RECORD = ("prefix", "created_at", "created_by")


class MachineCredentialAdmin(ShownOnceAdmin):
    def create_row(self, request: HttpRequest, **values: Any) -> Any:
        row, token = self.issue(request, **values)
        self.keep_for_response(request, f"The token is {token.text}")
        return row

    def issue(self, request: HttpRequest, **values: Any) -> tuple[Any, MachineToken]:
        raise NotImplementedError

    def delete_row(self, request: HttpRequest, row: License | GitToken) -> None:
        services.revoke(row, actor=actor(request))


class GitTokenForm(FreshForm):
    """Form of a git token, with a default expiry."""

    never_expires = forms.BooleanField(
        required=False, help_text="Without this and without a time it expires in 90 days."
    )

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if self.cleaned_data.get("never_expires") and self.cleaned_data.get("expires_at"):
            self.add_error("never_expires", "Choose a moment, or that it never expires, not both.")
        return cleaned


@admin.register(License)
class LicenseAdmin(MachineCredentialAdmin):
    list_display = ("name", "prefix", "is_active", "all_domains", "expires_at", "created_at", "created_by")
    list_filter = ("is_active", "all_domains")
    search_fields = ("name", "prefix", "remark")
    filter_horizontal = ("authorized_domains",)
    readonly_fields = _RECORD
    fields = ("name", "is_active", "expires_at", "all_domains", "authorized_domains", "remark", *readonly_fields)

    def issue(self, request: HttpRequest, **values: Any) -> tuple[License, MachineToken]:
        return services.issue_license(actor=actor(request), **values)

    def change_row(self, request: HttpRequest, row: License, **values: Any) -> None:
        services.change_license(row, actor=actor(request), **values)


@admin.register(GitToken)
class GitTokenAdmin(MachineCredentialAdmin):
    list_display = ("name", "user", "prefix", "expires_at", "created_at", "created_by")
    list_select_related = ("user",)
    search_fields = ("name", "prefix", "user__username")
    form = GitTokenForm
    readonly_fields = _RECORD
    fields = ("user", "name", "expires_at", "never_expires", *readonly_fields)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # as in the API: git tokens are only created and revoked

    def issue(self, request: HttpRequest, **values: Any) -> tuple[GitToken, MachineToken]:
        user, never, chosen = (values.pop(name) for name in ("user", "never_expires", "expires_at"))
        end = None if never else chosen or services.usual_end_of_git_token()
        return services.issue_git_token(actor=actor(request), user_id=user.pk, expires_at=end, **values)
