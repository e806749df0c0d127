"""What the operator pages have in common: who may see them, and the frame of the admin site around them."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.functional import Promise
from django.views import View


class OperatorPage(View):
    """A page for admins, who have shown their second factor if they have one.

    Subclasses name ``template`` and ``title``, and answer ``get`` (and ``post``) with ``shown``. A write that another
    site made the browser send is refused before it reaches them, as in the rest of the admin site.
    """

    template: str
    title: str | Promise

    @classmethod
    def as_view(cls, **initial: Any) -> Callable[..., HttpResponseBase]:
        """Return the view behind the door of the admin site."""
        return admin.site.admin_view(super().as_view(**initial))

    def shown(self, request: HttpRequest, status: HTTPStatus = HTTPStatus.OK, /, **context: Any) -> HttpResponse:
        """Return the page with these values."""
        # Tables need the room that the list of all rows would take; it is one click away.
        frame = admin.site.each_context(request) | {"title": self.title, "is_nav_sidebar_enabled": False}
        return TemplateResponse(request, self.template, frame | context, status=status)
