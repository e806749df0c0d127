"""Saved views of the log: list, create, change and delete."""

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from gatewall.console.log.log_query import read_query
from gatewall.console.models import SavedView

MAX_VIEWS = 50
"""Limit of views per user; shared views are on everybody's page, so it bounds each page."""
MOST_SHOWN = 200
MAX_NAME, MAX_QUERY = 80, 4000


def seen_by(user: User) -> QuerySet[SavedView]:
    """Return the user's own views, then those shared by others, by name; bounded."""
    views = SavedView.objects.filter(Q(owner=user) | Q(shared=True)).select_related("owner")
    is_others = ExpressionWrapper(~Q(owner=user), output_field=BooleanField())
    return views.order_by(is_others, "name", "id")[:MOST_SHOWN]


def own_view(user: User, view_id: int) -> SavedView | None:
    """Return a view owned by this user, or None."""
    return SavedView.objects.filter(owner=user, pk=view_id).first()


def save_view(owner: User, *, name: str, query: str, shared: bool) -> SavedView:
    """Save a query of the log explorer under a name. Raises ValidationError."""
    log_query = read_query(query)
    if log_query.errors or len(log_query.query) > MAX_QUERY:
        raise ValidationError(_("Only a query that the log explorer understands can be kept."))
    name = _name(name)
    with transaction.atomic():
        User.objects.select_for_update().filter(pk=owner.pk).first()  # lock the owner, so that the limit holds
        if SavedView.objects.filter(owner=owner).count() >= MAX_VIEWS:
            raise ValidationError(_("You keep %(most)d views already. Delete one first.") % {"most": MAX_VIEWS})
        return _save(SavedView(owner=owner, query=log_query.query), name=name, shared=shared)


def change_view(view: SavedView, *, name: str, shared: bool) -> SavedView:
    """Rename a view, share it or make it private. Raises ValidationError."""
    return _save(view, name=_name(name), shared=shared)


def delete_view(view: SavedView) -> None:
    """Delete a view."""
    view.delete()


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
        raise ValidationError(_("You have a view of this name already.")) from None
    return view
