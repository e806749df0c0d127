"""Pages to save, rename, share and delete views of the log."""

from http import HTTPStatus

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.authentication import signed_in_user
from gatewall.console.log import saved_views
from gatewall.console.log.log_query import MOMENTS, read_query
from gatewall.console.models import SavedView
from gatewall.console.site.pages import OperatorPage


class KeepView(OperatorPage):
    """The form that saves a view."""

    template = "console/saved_view.html"
    title = gettext_lazy("Keep this view")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the form on a page of its own."""
        return self.render(request, query=read_query(request.GET.get("query", "")).query)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Save the view and redirect to it."""
        log_query = read_query(request.POST.get("query", ""))
        query = (
            log_query.query if request.POST.get("moments") == "on" else log_query.changed(*MOMENTS, "count", "refresh")
        )
        name, shared = request.POST.get("name", ""), request.POST.get("shared") == "on"
        try:
            view = saved_views.save_view(signed_in_user(request), name=name, query=query, shared=shared)
        except ValidationError as error:
            context = {"errors": error.messages, "query": log_query.query, "name": name, "shared": shared}
            return self.render(request, HTTPStatus.BAD_REQUEST, **context)
        messages.success(request, _("The view %(name)s is kept.") % {"name": view.name})
        return HttpResponseRedirect(f"{reverse('console:log')}?{view.query}")


class ChangeView(OperatorPage):
    """The page of one of the user's views."""

    template = "console/saved_view.html"
    title = gettext_lazy("Change this view")

    def get(self, request: HttpRequest, view_id: int) -> HttpResponse:
        """Return the view's name and whether it is shared."""
        view = _own(request, view_id)
        return self.render(request, view=view, name=view.name, shared=view.shared)

    def post(self, request: HttpRequest, view_id: int) -> HttpResponse:
        """Rename, share or delete the view, and redirect to the log."""
        view = _own(request, view_id)
        if request.POST.get("delete") == "yes":
            saved_views.delete_view(view)
            messages.success(request, _("The view %(name)s is deleted.") % {"name": view.name})
            return HttpResponseRedirect(reverse("console:log"))
        name, shared = request.POST.get("name", ""), request.POST.get("shared") == "on"
        try:
            saved_views.change_view(view, name=name, shared=shared)
        except ValidationError as error:
            context = {"errors": error.messages, "view": view, "name": name, "shared": shared}
            return self.render(request, HTTPStatus.BAD_REQUEST, **context)
        messages.success(request, _("The view %(name)s is changed.") % {"name": view.name})
        return HttpResponseRedirect(f"{reverse('console:log')}?{view.query}")


def _own(request: HttpRequest, view_id: int) -> SavedView:
    view = saved_views.own_view(signed_in_user(request), view_id)
    if view is None:
        raise Http404
    return view
