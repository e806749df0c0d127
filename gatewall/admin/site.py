"""Django admin site, whose forms write through the same services as the API."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from http import HTTPStatus
from typing import Any, TypeVar

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.apps import AdminConfig
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from gatewall.api.request_notes import REFUSAL
from gatewall.kernel.refusals import Gone, TooMany

View = TypeVar("View", bound=Callable[..., HttpResponseBase])
_MAX_WAITING = 10
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class GatewallAdminConfig(AdminConfig):
    """Make our admin site the default."""

    default_site = "gatewall.admin.site.GatewallAdminSite"

    def ready(self) -> None:
        super().ready()
        # These import models, which are not loaded yet when this module is.
        from django.contrib.auth.models import Group  # noqa: PLC0415 - no models yet when this module is loaded

        from gatewall.admin.settings import SystemSettingsAdmin  # noqa: PLC0415 - no models yet when this module is loaded
        from gatewall.models import SystemSettings  # noqa: PLC0415 - no models yet when this module is loaded

        admin.site.register(SystemSettings, SystemSettingsAdmin)
        admin.site.unregister(Group)  # without groups: admins have all permissions


class GatewallAdminSite(admin.AdminSite):
    """Gatewall's admin site."""

    site_header = site_title = "Gatewall"
    index_title = _("Policy and accounts")
    site_url = None
    enable_nav_sidebar = False  # the console has its own
    login_template = "admin/sign_in.html"

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Sign in as on all pages, and create a session row with the authentication methods."""
        from accounts import admin_session, browser  # noqa: PLC0415 - no models yet when this module is loaded
        from accounts.sign_in import login  # noqa: PLC0415 - no models yet when this module is loaded
        from gatewall.admin.login import PROOF, AdminLoginForm  # noqa: PLC0415 - no models yet when this module is loaded

        self.login_form = AdminLoginForm
        if refused := _refused_as_cross_site(request):
            return refused
        response = super().login(
            request, {**(extra_context or {}), "home": _home_elsewhere(request), "guard": f"{settings.ROOT_PATH}/"}
        )
        if proof := PROOF.get(request):
            with suppress(Gone):  # the user was deleted: without a row the session grants no access
                visitor, now = browser.visitor(request), timezone.now()
                with transaction.atomic():
                    admin_session.begin(request.session, proof.user, amr=proof.amr, visitor=visitor, at=now)
                    login.record_success(proof, flow=login.ADMIN_SITE, visitor=visitor, at=now)
                browser.remember(response, request, proof.user.pk)
        if isinstance(refusal := REFUSAL.get(request), TooMany):
            response.status_code = HTTPStatus.TOO_MANY_REQUESTS
            response["Retry-After"] = str(refusal.retry_after_seconds)
        return response

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Sign out and end the session row."""
        from accounts import admin_session  # noqa: PLC0415 - no models yet when this module is loaded

        if request.method == "POST":
            admin_session.end(request, at=timezone.now())
        return super().logout(request, extra_context)

    def admin_view(self, view: View, cacheable: bool = False) -> View:  # noqa: FBT001, FBT002 - Django's
        """Reject cross-site writes, in addition to Django's CSRF check, and writes of auditors.

        Auditors may post to pages whose ``post_reads`` is true, and sign out.
        """
        inner = super().admin_view(view, cacheable)
        is_for_auditors = view == self.logout or getattr(getattr(view, "view_class", None), "post_reads", False)

        @wraps(inner)
        def ours_alone(request: HttpRequest, *arguments: Any, **path: Any) -> Any:
            if refused := _refused_as_cross_site(request):
                return refused
            if request.method not in _SAFE and not is_for_auditors and _is_auditor_only(request):
                raise PermissionDenied
            return inner(request, *arguments, **path)

        return ours_alone  # type: ignore[return-value]  # wraps() gives it the signature of the view

    def has_permission(self, request: HttpRequest) -> bool:
        """Allow admins and auditors who have completed their second factor, if any."""
        from accounts import admin_session  # noqa: PLC0415 - no models yet when this module is loaded
        from accounts.authentication import signed_in_user  # noqa: PLC0415 - no models yet when this module is loaded

        may_read = getattr(request.user, "may_audit", False)
        return may_read and admin_session.has_required_factors(request, signed_in_user(request))

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Add the first ten forced changes that wait for confirmation, and whether the user may only read."""
        from policies.history import confirmation  # noqa: PLC0415 - no models yet when this module is loaded

        context = super().each_context(request)
        waiting = list(confirmation.pending()[:_MAX_WAITING]) if context["has_permission"] else []
        return {**context, "waiting": waiting, "is_read_only": context["has_permission"] and _is_auditor_only(request)}

    def password_change(  # type: ignore[override]  # no page of its own
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the user's own page: Django's password page would bypass the services."""
        return redirect("admin:accounts_user_change", request.user.pk)


def _is_auditor_only(request: HttpRequest) -> bool:
    """Return whether the user may read everything and change nothing."""
    return bool(getattr(request.user, "may_audit", False) and not getattr(request.user, "is_staff", False))


def _home_elsewhere(request: HttpRequest) -> str:
    """Return the admin's address at the public URL if a caller on this machine opened it elsewhere, else empty.

    Other callers may come through a proxy that rewrites the host.
    """
    from accounts import browser  # noqa: PLC0415 - no models yet when this module is loaded

    home = settings.GATEWALL_PUBLIC_URL
    if not home or not browser.is_at_this_machine(request) or request.get_host() == home.partition("://")[2]:
        return ""
    return f"{home}{settings.ROOT_PATH}/admin/"


def _refused_as_cross_site(request: HttpRequest) -> HttpResponse | None:
    """Return the response to a cross-site write, or None."""
    from gatewall.api.cross_site import CrossSite, refuse_cross_site  # noqa: PLC0415 - no models yet when this module is loaded
    from gatewall.api.problems import MEDIA_TYPE, problem_body  # noqa: PLC0415 - no models yet when this module is loaded

    if request.method in _SAFE:
        return None
    try:
        refuse_cross_site(request)
    except CrossSite as refusal:
        status = HTTPStatus.FORBIDDEN
        return JsonResponse(problem_body(status, refusal.code, str(refusal)), status=status, content_type=MEDIA_TYPE)
    return None
