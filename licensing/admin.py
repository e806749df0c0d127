"""Django admin pages of licenses, git tokens and app tokens. A token is shown once; its digest never."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from audit.figures.used_rows import UsedRowsAdmin, use_columns
from gatewall.api.admin_forms import FreshForm
from gatewall.api.service_admin import ShownOnceAdmin, actor
from gatewall.credentials.machine import MachineToken
from gatewall.engine.model import SubjectKind
from licensing import services
from licensing.models import AppToken, GitToken, License

_METADATA = ("prefix", "created_at", "created_by")


class MachineCredentialAdmin(ShownOnceAdmin):
    def create_row(self, request: HttpRequest, **values: Any) -> Any:
        row, token = self.issue(request, **values)
        self.keep_for_response(request, token.text)
        return row

    def issue(self, request: HttpRequest, **values: Any) -> tuple[Any, MachineToken]:
        raise NotImplementedError

    def use_lines(self, row: Any, secret: str) -> list[tuple[str | Promise, str]]:
        return [(_("With curl"), f'curl -H "{self.header(secret)}" https://{_site_of(row)}/')]

    def header(self, secret: str) -> str:
        """Return the header in which a program sends the token."""
        return f"Authorization: Bearer {secret}"

    def delete_row(self, request: HttpRequest, row: License | GitToken | AppToken) -> None:
        services.revoke(row, actor=actor(request))


def _site_of(row: License | AppToken) -> str:
    """Return a host that the token gives access to, for the example command."""
    domain = None if row.all_domains else row.authorized_domains.order_by("name").first()
    return domain.name.replace("*", "app") if domain else "app.example.com"


class UserTokenForm(FreshForm):
    """Form of a git token or app token, with a default expiry."""

    never_expires = forms.BooleanField(
        required=False, help_text="Without this and without a time it expires in 90 days."
    )

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if self.cleaned_data.get("never_expires") and self.cleaned_data.get("expires_at"):
            self.add_error("never_expires", _("Choose either a time or that it never expires."))
        return cleaned


@admin.register(License)
class LicenseAdmin(UsedRowsAdmin, MachineCredentialAdmin):
    use_kind = SubjectKind.LICENSE.value
    uses, last_used = use_columns(use_kind, log_filter="subject", count=_("uses"), last=_("last used"))
    list_display = (
        "name",
        "prefix",
        "is_active",
        "all_domains",
        "uses",
        "last_used",
        "expires_at",
        "created_at",
        "created_by",
    )
    list_filter = ("is_active", "all_domains")
    search_fields = ("name", "prefix", "remark")
    readonly_fields = _METADATA
    fields = ("name", "is_active", "expires_at", "all_domains", "authorized_domains", "remark", *readonly_fields)

    def header(self, secret: str) -> str:
        return f"Service-License: {secret}"

    def issue(self, request: HttpRequest, **values: Any) -> tuple[License, MachineToken]:
        return services.issue_license(actor=actor(request), **values)

    def change_row(self, request: HttpRequest, row: License, **values: Any) -> None:
        services.change_license(row, actor=actor(request), **values)


class UserTokenAdmin(MachineCredentialAdmin):
    """Admin of a user's tokens, which are only created and revoked, as in the API."""

    list_select_related = ("user",)
    search_fields = ("name", "prefix", "user__username")
    form = UserTokenForm
    readonly_fields = _METADATA

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def issue(self, request: HttpRequest, **values: Any) -> tuple[Any, MachineToken]:
        user, never, chosen = (values.pop(name) for name in ("user", "never_expires", "expires_at"))
        end = None if never else chosen or services.usual_end_of_token()
        return self.issue_token(actor=actor(request), user_id=user.pk, expires_at=end, **values)

    def issue_token(self, **values: Any) -> tuple[Any, MachineToken]:
        raise NotImplementedError


@admin.register(GitToken)
class GitTokenAdmin(UsedRowsAdmin, UserTokenAdmin):
    use_kind = SubjectKind.GIT_TOKEN.value
    uses, last_used = use_columns(use_kind, count=_("uses"), last=_("last used"))
    list_display = ("name", "user", "prefix", "uses", "last_used", "expires_at", "created_at", "created_by")
    fields = ("user", "name", "expires_at", "never_expires", *_METADATA)

    def use_lines(self, row: GitToken, secret: str) -> list[tuple[str | Promise, str]]:
        return [(_("With git"), f"git clone https://{row.user.username}:{secret}@git.example.com/me/repository.git")]

    def issue_token(self, **values: Any) -> tuple[GitToken, MachineToken]:
        return services.issue_git_token(**values)


@admin.register(AppToken)
class AppTokenAdmin(UsedRowsAdmin, UserTokenAdmin):
    use_kind = SubjectKind.APP_TOKEN.value
    uses, last_used = use_columns(use_kind, count=_("uses"), last=_("last used"))
    list_display = (
        *("name", "user", "prefix", "all_domains", "uses", "last_used", "expires_at", "created_at", "created_by"),
    )
    list_filter = ("all_domains",)
    fields = (
        *("user", "name", "expires_at", "never_expires", "all_domains", "authorized_domains", "path_prefixes"),
        *_METADATA,
    )

    def use_lines(self, row: AppToken, secret: str) -> list[tuple[str | Promise, str]]:
        basic = f"curl -u {row.user.username}:{secret} https://{_site_of(row)}/"
        return [*super().use_lines(row, secret), (_("As user name and password"), basic)]

    def issue_token(self, **values: Any) -> tuple[AppToken, MachineToken]:
        return services.issue_app_token(**values)
