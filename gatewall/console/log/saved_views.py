"""Views of the log that operators keep: who sees them, who changes them."""

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from gatewall.console.log.log_query import read_query
from gatewall.console.models import SavedView

MOST = 50
"""Views a person; what is shared is shown to everybody, so this bounds the page of each."""
MOST_SHOWN = 200
MAX_NAME, MAX_QUERY = 80, 4000


def seen_by(user: User) -> QuerySet[SavedView]:
    """Return the own views, then those that others share, by name, a bounded number of them."""
    views = SavedView.objects.filter(Q(owner=user) | Q(shared=True)).select_related("owner")
    is_others = ExpressionWrapper(~Q(owner=user), output_field=BooleanField())
    return views.order_by(is_others, "name", "id")[:MOST_SHOWN]


def own_view(user: User, view_id: int) -> SavedView | None:
    """Return a view of this user, or None."""
    return SavedView.objects.filter(owner=user, pk=view_id).first()


def save_view(owner: User, *, name: str, query: str, shared: bool) -> SavedView:
    """Keep a query of the log explorer under a name. Raises ValidationError."""
    found = read_query(query)
    if found.errors or len(found.query) > MAX_QUERY:
        raise ValidationError(_("Only a query that the log explorer understands can be kept."))
    name = _name(name)
    with transaction.atomic():
        User.objects.select_for_update().filter(pk=owner.pk).first()  # one at a time, so that the bound holds
        if SavedView.objects.filter(owner=owner).count() >= MOST:
            raise ValidationError(_("You keep %(most)d views already. Delete one first.") % {"most": MOST})
        return _written(SavedView(owner=owner, query=found.query), name=name, shared=shared)


def change_view(view: SavedView, *, name: str, shared: bool) -> SavedView:
    """Rename a view, share it or keep it for oneself. Raises ValidationError."""
    return _written(view, name=_name(name), shared=shared)


def delete_view(view: SavedView) -> None:
    """Delete a view."""
    view.delete()


def _name(text: str) -> str:
    name = " ".join(text.split())
    if not 1 <= len(name) <= MAX_NAME or "\0" in name or not name.isprintable():
        raise ValidationError(_("A view has a name of 1 to %(most)d characters.") % {"most": MAX_NAME})
    return name


def _written(view: SavedView, *, name: str, shared: bool) -> SavedView:
    view.name, view.shared = name, shared
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError:
        raise ValidationError(_("You have a view of this name already.")) from None
    return view
