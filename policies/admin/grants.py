"""Django admin pages of grants, share links and device passes."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from audit.figures.used_resources import uses_of
from audit.figures.used_rows import UsedRowsAdmin, use_columns
from gatewall.api.admin_forms import FreshForm, ServiceForm
from gatewall.api.own_origins import site_origin
from gatewall.api.service_admin import ShownOnceAdmin, actor
from policies import resources, selectors
from policies.admin.entries import PolicyAdmin
from policies.admin.rules import WordsField
from policies.grants import share_links
from policies.models import DevicePass, Grant, ShareLink
from policies.models.share_links import reading_methods

_RECORD = ("decision_id", "created_at", "created_by")


class GrantForm(ServiceForm):
    """Edit a grant; the user is typed by name, because there may be many."""

    user = forms.CharField(
        required=False, max_length=64, label=_("User"), help_text=_("The name of a user. Leave it empty for a group.")
    )
    methods = WordsField(required=False, label=_("Methods"), help_text=_("Separated by commas; empty: every method."))

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.user:
            self.initial["user"] = self.instance.user.username

    def clean_user(self) -> Any:
        name = self.cleaned_data["user"]
        if not name:
            return None
        user = get_user_model()._default_manager.filter(username__iexact=name).first()  # noqa: SLF001 - documented API
        if user is None:
            raise ValidationError(_("there is no user %(name)s"), "invalid", {"name": name})
        return user

    def clean_path_prefix(self) -> str | None:
        return self.cleaned_data["path_prefix"] or None


@admin.register(Grant)
class GrantAdmin(UsedRowsAdmin, PolicyAdmin):
    resource = resources.GRANTS
    use_kind = resource.logged_as
    hits, last_hit = use_columns(use_kind, log_filter="decided_by")
    form = GrantForm
    list_display = (
        "user",
        "group",
        "domain",
        "path_prefix",
        "expires_at",
        "reason",
        "hits",
        "last_hit",
        "created_at",
        "created_by",
    )
    list_filter = ("domain",)
    list_select_related = ("user", "group", "domain")
    search_fields = ("user__username", "group__name", "domain__name", "reason")
    readonly_fields = _RECORD
    fields = ("user", "group", "domain", "path_prefix", "methods", "expires_at", "reason", *readonly_fields)


class ShareLinkForm(FreshForm):
    """Edit a share link; its secret is shown once, on creation."""

    methods = WordsField(
        required=False,
        initial=reading_methods,
        label=_("Methods"),
        help_text=_("Separated by commas; GET and HEAD only read. Empty: every method."),
    )

    def clean_path_prefix(self) -> str | None:
        return self.cleaned_data["path_prefix"] or None


@admin.register(ShareLink)
class ShareLinkAdmin(UsedRowsAdmin, PolicyAdmin, ShownOnceAdmin):
    """Admin pages of share links: the browsers that opened each one, and the requests that it let in."""

    secret_label = _("The link for your guest")

    resource = resources.SHARE_LINKS
    use_kind = resource.logged_as
    hits, last_hit = use_columns(use_kind, log_filter="subject")
    form = ShareLinkForm
    list_display = (
        *("name", "domain", "path_prefix", "opened", "expires_at", "hits", "last_hit", "created_at", "created_by"),
    )
    list_filter = ("domain",)
    list_select_related = ("domain",)
    search_fields = ("name", "prefix", "domain__name")
    readonly_fields = ("prefix", "opened", "openings", "requests", "created_at", "created_by")
    fields = ("name", "domain", "path_prefix", "methods", "expires_at", "max_uses", *readonly_fields)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ShareLink]:
        return selectors.share_links()

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = super().get_fields(request, obj)
        return fields if obj else [name for name in fields if name not in self.readonly_fields]

    def create_row(self, request: HttpRequest, **values: Any) -> ShareLink:
        link, token = share_links.issue_share_link(actor=actor(request), **values)
        self.keep_for_response(request, share_links.url_of(token, site_origin(request, link.domain.name)))
        return link

    @admin.display(description=_("Opened"))
    def opened(self, link: Any) -> str:
        """Return how many browsers have opened the link, and the maximum."""
        return f"{link.uses} / {link.max_uses}"

    @admin.display(description=_("Opened by"))
    def openings(self, link: ShareLink) -> str:
        """Return the browsers that opened the link."""
        rows = ((f"{each.opened_at:%Y-%m-%d %H:%M} UTC", each.client_ip, each.program) for each in link.openings.all())
        return format_html_join("", "<p>{} {} {}</p>", rows) or "-"

    @admin.display(description=_("Requests"))
    def requests(self, link: ShareLink) -> str:
        """Return the number of requests that the link let in, with a link to them in the log, and the last one."""
        use = uses_of(self.use_kind, [link.pk]).get(link.pk)
        log = f"{reverse('console:log')}?{urlencode({'subject': f'{self.use_kind}:{link.pk}'})}"
        last = f", {use.last_at:%Y-%m-%d %H:%M} UTC {use.last_by}" if use and use.last_at else ""
        return format_html('<a href="{}">{}</a>{}', log, use.count if use else 0, last)


@admin.register(DevicePass)
class DevicePassAdmin(UsedRowsAdmin, PolicyAdmin):
    """Admin pages of device passes, which users create for themselves and admins can only delete."""

    resource = resources.DEVICE_PASSES
    use_kind = resource.logged_as
    hits, last_hit = use_columns(use_kind, log_filter="subject")
    list_display = ("program", "user", "domain", "address", "expires_at", "hits", "last_hit", "created_at")
    list_filter = ("domain",)
    list_select_related = ("user", "domain")
    search_fields = ("program", "address", "user__username", "domain__name")
    fields = readonly_fields = ("program", "user", "domain", "address", "expires_at", "created_at", "created_by")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
