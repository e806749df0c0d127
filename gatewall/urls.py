"""All URLs of the control plane, under ``ROOT_PATH``, except ``/auth``, which is answered before Django (wsgi.py)."""

from http import HTTPStatus

from django.conf import settings
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from gatewall.api.documentation import Docs, Document
from gatewall.portal.guard_views import ToTheSlash

_PATHS: list[URLPattern | URLResolver] = [
    path("", include("gatewall.portal.urls")),
    path("", include("gatewall.operations.urls")),
    path("", include("accounts.urls")),
    path("", include("policies.urls")),
    path("", include("licensing.urls")),
    path("", include("audit.urls")),
    path("", include("webhooks.urls")),
    path("", include("gatewall.whatif.backtest.urls")),
    path("", include("gatewall.whatif.plans.urls")),
    path("", include("gatewall.whatif.shadow.urls")),
    path("schema", Document.as_view(), name="schema"),
    path("docs", Docs.as_view(), name="docs"),
    path("admin/", include("gatewall.console.urls")),
    path("admin/", admin.site.urls),
    path("help/", include("gatewall.console.help.urls")),
]
_PREFIX = f"{settings.ROOT_PATH.lstrip('/')}/" if settings.ROOT_PATH else ""

urlpatterns: list[URLPattern | URLResolver] = [path(_PREFIX, include(_PATHS))]
if _PREFIX:
    urlpatterns.append(path(_PREFIX.removesuffix("/"), ToTheSlash.as_view(), name="guard-without-slash"))
    urlpatterns.append(path("", ToTheSlash.as_view(status=HTTPStatus.FOUND), name="origin"))

handler400 = "gatewall.api.errors.bad_request"
handler403 = "gatewall.api.errors.forbidden"
handler404 = "gatewall.api.errors.not_found"
handler500 = "gatewall.api.errors.server_error"
