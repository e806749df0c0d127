"""Django admin page of grants."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from audit.figures.used_rows import UsedRowsAdmin, use_columns
from gatewall.api.service_admin import ServiceForm
from policies import resources
from policies.admin.entries import PolicyAdmin
from policies.admin.rules import WordsField
from policies.models import Grant

_RECORD = ("decision_id", "created_at", "created_by")


class GrantForm(ServiceForm):
    """Edit a grant; the user is typed by name, because there may be many."""

    user = forms.CharField(max_length=64, label=_("User"), help_text=_("The name of a user."))
    methods = WordsField(required=False, label=_("Methods"), help_text=_("Separated by commas; empty: every method."))

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.pk:
            self.initial["user"] = self.instance.user.username

    def clean_user(self) -> Any:
        name = self.cleaned_data["user"]
        user = get_user_model()._default_manager.filter(username__iexact=name).first()  # noqa: SLF001 - public by its documentation
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
    list_select_related = ("user", "domain")
    search_fields = ("user__username", "domain__name", "reason")
    readonly_fields = _RECORD
    fields = ("user", "domain", "path_prefix", "methods", "expires_at", "reason", *readonly_fields)
