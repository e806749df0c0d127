"""Users in the Django admin. The password goes in and never comes out."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth import update_session_auth_hash
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts import recovery, services
from accounts.models import Session, User
from gatewall.api.service_admin import ServiceAdmin, ServiceForm, actor


class UserForm(ServiceForm):
    """A user and, where one is to be set, the new password."""

    new_password = forms.CharField(
        strip=False,
        max_length=1024,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Setting one ends every session of this user.",
    )

    forget_second_factor = forms.BooleanField(
        required=False,
        help_text="For a user who has lost it: secret and recovery codes are forgotten, every session ends.",
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "new_password" in self.fields:
            self.fields["new_password"].required = self.instance.pk is None


class LiveSessions(admin.TabularInline):
    """The sessions that open anything now, to look at."""

    model = Session
    verbose_name_plural = "live sessions"
    fields = readonly_fields = ("issued_at", "expires_at", "client_ip", "user_agent", "amr")
    ordering = ("-issued_at",)
    extra = max_num = 0
    can_delete = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        live = {"revoked_at__isnull": True, "expires_at__gt": timezone.now()}
        return super().get_queryset(request).filter(session_version=F("user__session_version"), **live)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(User)
class UserAdmin(ServiceAdmin):
    form = UserForm
    list_display = ("username", "email", "is_admin", "is_active", "all_domains", "second_factor", "last_login_at")
    list_filter = ("is_admin", "is_active", "all_domains")
    search_fields = ("username", "email", "remark")
    ordering = ("id",)
    filter_horizontal = ("authorized_domains",)
    readonly_fields = ("second_factor", "last_login_at", "created_at", "created_by")
    inlines = (LiveSessions,)
    fields = (
        "username",
        "new_password",
        "email",
        "is_admin",
        "is_active",
        "all_domains",
        "authorized_domains",
        "remark",
        *readonly_fields,
    )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        lost = ("forget_second_factor",) if obj is not None and self.second_factor(obj) else ()
        return (*self.fields, *lost)

    @admin.display(boolean=True)
    def second_factor(self, user: User) -> bool:
        """Return whether the user has confirmed an authenticator app."""
        device = getattr(user, "totp", None)
        return device is not None and device.confirmed_at is not None

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).select_related("totp")

    def create_row(self, request: HttpRequest, **values: Any) -> User:
        password = values.pop("new_password")
        values.pop("forget_second_factor", None)  # declared by the form, and not on the page of a new user
        return services.create_user(actor=actor(request), password=password, **values)

    def change_row(self, request: HttpRequest, row: User, **values: Any) -> None:
        password = values.pop("new_password", None)
        if values.pop("forget_second_factor", False):
            recovery.reset(row, actor=actor(request))
        if password is None and not values:
            return
        user = services.change_user(row, actor=actor(request), password=password, **values)
        if user == request.user:
            update_session_auth_hash(request, user)  # whoever changes his own password stays here

    def delete_row(self, request: HttpRequest, row: User) -> None:
        services.delete_user(row, actor=actor(request))
