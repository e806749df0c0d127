"""Django admin pages of licenses and git tokens. A token is shown once; its digest never."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from gatewall.api.request_notes import RequestNote
from gatewall.api.service_admin import FreshForm, ServiceAdmin, actor
from gatewall.credentials.machine import MachineToken
from licensing import services
from licensing.models import GitToken, License

_RECORD = ("prefix", "created_at", "created_by")
_ISSUED = RequestNote[MachineToken]("issued")


class MachineCredentialAdmin(ServiceAdmin):
    """Base of both pages: shows the token in the response to the form that created it."""

    form = FreshForm

    def issue(self, request: HttpRequest, **values: Any) -> tuple[Any, MachineToken]:
        raise NotImplementedError

    def create_row(self, request: HttpRequest, **values: Any) -> Any:
        row, token = self.issue(request, **values)
        _ISSUED.set(request, token)
        return row

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        # No redirect: a message for the next page would store the token in a cookie or a row.
        if token := _ISSUED.get(request):
            self.message_user(request, f"The token is {token.text}", messages.SUCCESS)
            self.message_user(request, "It is shown this once. Copy it now.", messages.WARNING)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "object": obj,
            "title": f"{obj} was created",
        }
        return TemplateResponse(request, "admin/shown_once.html", context)


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

    def delete_row(self, request: HttpRequest, row: License) -> None:
        services.revoke_license(row, actor=actor(request))


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

    def delete_row(self, request: HttpRequest, row: GitToken) -> None:
        services.revoke_git_token(row, actor=actor(request))
