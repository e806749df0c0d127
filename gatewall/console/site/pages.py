"""Base class of the operator pages: access control, and the frame of the admin site."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.views import View

REFRESH_CHOICES = ("0", "10", "30", "60")
"""Seconds after which a page reloads itself; 0 is off."""


class OperatorPage(View):
    """A page for admins and auditors who have passed their second factor, if they have one.

    Subclasses set ``template`` and ``title``, and implement ``get`` (and ``post``) with ``render``. CSRF protection is
    that of the admin site.
    """

    template: str
    title: str | Promise
    post_reads = False
    """Whether a POST is read-only, so that auditors may send it."""

    @classmethod
    def as_view(cls, **initial: Any) -> Callable[..., HttpResponseBase]:
        """Return the view with the access check of the admin site."""
        return admin.site.admin_view(super().as_view(**initial))

    def render(self, request: HttpRequest, status: HTTPStatus = HTTPStatus.OK, /, **context: Any) -> HttpResponse:
        frame = admin.site.each_context(request) | {"title": self.title}
        return TemplateResponse(request, self.template, frame | context, status=status)


def refresh_labels() -> dict[str, str]:
    """Return the label of each choice of ``REFRESH_CHOICES``."""
    return {each: _("%(seconds)s s") % {"seconds": each} if int(each) else _("Off") for each in REFRESH_CHOICES}


def refreshed(response: HttpResponse, seconds: str) -> HttpResponse:
    """Return the response with a Refresh header, which reloads the page without scripts."""
    if seconds != REFRESH_CHOICES[0]:
        response["Refresh"] = seconds
    return response
