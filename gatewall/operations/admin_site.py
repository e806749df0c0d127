"""The Django admin site, whose forms write through the same services as the API."""

from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.contrib.admin.apps import AdminConfig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from gatewall.refusals import TooMany


class GatewallAdminConfig(AdminConfig):
    """Makes our site the default one."""

    default_site = "gatewall.operations.admin_site.GatewallAdminSite"

    def ready(self) -> None:
        """Register the admin pages of the apps and of the system."""
        super().ready()
        # These import models, which are not there when this module is loaded.
        from django.contrib.auth.models import Group  # noqa: PLC0415

        from gatewall.models import SystemSettings  # noqa: PLC0415
        from gatewall.operations.settings_admin import SystemSettingsAdmin  # noqa: PLC0415

        admin.site.register(SystemSettings, SystemSettingsAdmin)
        admin.site.unregister(Group)  # we have none: admins, and they alone, may do everything


class GatewallAdminSite(admin.AdminSite):
    """The admin site, named after us."""

    site_header = site_title = "Gatewall"
    index_title = "Policy and accounts"
    site_url = None
    login_template = "operations/login.html"

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Sign in as everywhere, and note in the session whether the second factor was shown."""
        # Models are not there when this module is loaded.
        from accounts import admin_session  # noqa: PLC0415
        from gatewall.operations.admin_login import AdminLoginForm  # noqa: PLC0415

        self.login_form = AdminLoginForm
        response = super().login(request, extra_context)
        if proof := getattr(request, "proof", None):
            admin_session.remember(request, proof.amr)
        if isinstance(refusal := getattr(request, "refusal", None), TooMany):
            response.status_code = HTTPStatus.TOO_MANY_REQUESTS
            response["Retry-After"] = str(refusal.retry_after_seconds)
        return response

    def has_permission(self, request: HttpRequest) -> bool:
        """Admins, who have shown their second factor if they have one."""
        from accounts import admin_session  # noqa: PLC0415

        return super().has_permission(request) and admin_session.is_enough(request, request.user)

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Lead to the own user, whose form calls the service: Django's page would write past it."""
        return redirect("admin:accounts_user_change", request.user.pk)
