"""Saved views of the log: queries with a name, and the pages to save, rename, share and delete them."""

from http import HTTPStatus

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.authentication import signed_in_user
from accounts.models import User
from gatewall.console.log.log_query import MOMENTS, read_query
from gatewall.console.models import SavedView
from gatewall.console.site.pages import OperatorPage

MAX_VIEWS = 50
"""Limit of views per user; shared views are on everybody's page, so it bounds each page."""
MOST_SHOWN = 200
MAX_NAME, MAX_QUERY = 80, 4000


def seen_by(user: User) -> QuerySet[SavedView]:
    """Return the user's own views, then those shared by others, by name; bounded."""
    views = SavedView.objects.filter(Q(owner=user) | Q(shared=True)).select_related("owner")
    is_others = ExpressionWrapper(~Q(owner=user), output_field=BooleanField())
    return views.order_by(is_others, "name", "id")[:MOST_SHOWN]


def save_view(owner: User, *, name: str, query: str, shared: bool) -> SavedView:
    """Save a query of the log explorer under a name. Raises ValidationError."""
    log_query = read_query(query)
    if log_query.errors or len(log_query.query) > MAX_QUERY:
        raise ValidationError(_("Only a query that the log explorer understands can be saved."))
    name = _name(name)
    with transaction.atomic():
        User.objects.select_for_update().filter(pk=owner.pk).first()  # lock the owner, so that the limit holds
        if SavedView.objects.filter(owner=owner).count() >= MAX_VIEWS:
            raise ValidationError(_("You have %(most)d views already. Delete one first.") % {"most": MAX_VIEWS})
        return _save(SavedView(owner=owner, query=log_query.query), name=name, shared=shared)


def _name(text: str) -> str:
    name = " ".join(text.split())
    if not 1 <= len(name) <= MAX_NAME or "\0" in name or not name.isprintable():
        raise ValidationError(_("A view has a name of 1 to %(most)d characters.") % {"most": MAX_NAME})
    return name


def _save(view: SavedView, *, name: str, shared: bool) -> SavedView:
    view.name, view.shared = name, shared
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError:
        raise ValidationError(_("You already have a view with this name.")) from None
    return view


class KeepView(OperatorPage):
    """The form that saves a view."""

    template = "console/saved_view.html"
    title = gettext_lazy("Save this view")

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.render(request, query=read_query(request.GET.get("query", "")).query)

    def post(self, request: HttpRequest) -> HttpResponse:
        log_query = read_query(request.POST.get("query", ""))
        query = (
            log_query.query if request.POST.get("moments") == "on" else log_query.changed(*MOMENTS, "count", "refresh")
        )
        name, shared = request.POST.get("name", ""), request.POST.get("shared") == "on"
        try:
            view = save_view(signed_in_user(request), name=name, query=query, shared=shared)
        except ValidationError as error:
            context = {"errors": error.messages, "query": log_query.query, "name": name, "shared": shared}
            return self.render(request, HTTPStatus.BAD_REQUEST, **context)
        messages.success(request, _("The view %(name)s is saved.") % {"name": view.name})
        return HttpResponseRedirect(f"{reverse('console:log')}?{view.query}")


class ChangeView(OperatorPage):
    """The page of one of the user's views."""

    template = "console/saved_view.html"
    title = gettext_lazy("Change this view")

    def get(self, request: HttpRequest, view_id: int) -> HttpResponse:
        view = _own(request, view_id)
        return self.render(request, view=view, name=view.name, shared=view.shared)

    def post(self, request: HttpRequest, view_id: int) -> HttpResponse:
        view = _own(request, view_id)
        if request.POST.get("delete") == "yes":
            view.delete()
            messages.success(request, _("The view %(name)s is deleted.") % {"name": view.name})
            return HttpResponseRedirect(reverse("console:log"))
        name, shared = request.POST.get("name", ""), request.POST.get("shared") == "on"
        try:
            _save(view, name=_name(name), shared=shared)
        except ValidationError as error:
            context = {"errors": error.messages, "view": view, "name": name, "shared": shared}
            return self.render(request, HTTPStatus.BAD_REQUEST, **context)
        messages.success(request, _("The view %(name)s is changed.") % {"name": view.name})
        return HttpResponseRedirect(f"{reverse('console:log')}?{view.query}")


def _own(request: HttpRequest, view_id: int) -> SavedView:
    return get_object_or_404(SavedView, owner=signed_in_user(request), pk=view_id)
