"""Django admin pages that write through the services of an app.

Forms validate types, services validate meaning. The form is shown again with the message of a refusal; nothing is
changed.
"""

from typing import Any

from django import forms
from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from gatewall.api.admin_forms import CREDENTIALS, LONGEST_CODE, FreshForm, MomentField, RowsField, ServiceForm, is_id
from gatewall.api.fresh_sign_in import is_fresh, require_fresh_sign_in
from gatewall.api.request_notes import REFUSAL, RequestNote
from gatewall.api.translation import messages_of
from gatewall.kernel.refusals import Overridable, Refusal

_NEVER_SHOWN = frozenset({"password", "digest"})
_SECRET = RequestNote[str]("secret")
MAX_CHOSEN = 500
"""Maximum number of selected rows; a service deletes each, in one transaction."""


class ServiceAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """List, add, change and delete rows of one kind.

    Subclasses implement ``create_row``, ``change_row`` and ``delete_row``, each with one service call.
    """

    form = ServiceForm
    formfield_overrides = {
        models.ManyToManyField: {"form_class": RowsField},
        models.DateTimeField: {"form_class": MomentField},
    }

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Return checkboxes, which need no script and no modifier key."""
        options.setdefault("widget", forms.CheckboxSelectMultiple(attrs={"class": "pick"}))
        return super().formfield_for_manytomany(db_field, request, **options)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Reject filters by secret columns, whose results would reveal them character by character."""
        return _NEVER_SHOWN.isdisjoint(lookup.split("__")) and super().lookup_allowed(lookup, value, request)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Count the rows that have no name of their own, instead of listing them; leave out many-to-many relations."""
        rows, counts, forbidden, protected = super().get_deleted_objects(objs, request)
        kinds = [kind._meta for kind in apps.get_models(include_auto_created=True) if _is_unnamed(kind)]  # noqa: SLF001 - Django's documented API
        relations = {kind.verbose_name_plural for kind in kinds if kind.auto_created}
        shown = {kind: number for kind, number in counts.items() if kind not in relations}
        unnamed = tuple(f"{capfirst(kind.verbose_name)}: " for kind in kinds)
        return _named_rows(rows, unnamed), shown, forbidden, protected

    def create_row(self, request: HttpRequest, **values: Any) -> models.Model:
        raise NotImplementedError

    def change_row(self, request: HttpRequest, row: Any, **values: Any) -> object:
        raise NotImplementedError

    def delete_row(self, request: HttpRequest, row: Any) -> None:
        raise NotImplementedError

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        """Call the service with a freshly loaded row, because the form has modified its own instance."""
        if not change:
            credentials = CREDENTIALS if isinstance(form, FreshForm) else ()
            values = {name: value for name, value in form.cleaned_data.items() if name not in credentials}
            obj.pk = self.create_row(request, **values).pk
        elif form.changed_data:
            row = self.get_object(request, str(obj.pk))
            if row is None:
                raise self.model.DoesNotExist
            self.change_row(request, row, **{name: form.cleaned_data[name] for name in form.changed_data})

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:  # noqa: FBT001 - signature of Django
        """Do nothing: services save relations, and inlines are read-only."""

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:  # noqa: FBT001, FBT002 - signature of Django
        return super().construct_change_message(request, form, [], add)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.delete_row(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> None:
        for row in queryset:
            self.delete_row(request, row)

    def response_action(  # type: ignore[override]  # the stubs have a parameter of Django 6.1
        self, request: HttpRequest, queryset: models.QuerySet[Any]
    ) -> HttpResponse | None:
        """Reject malformed ids and too many rows."""
        chosen = request.POST.getlist(helpers.ACTION_CHECKBOX_NAME)
        across = request.POST.get("select_across", "0") != "0"
        if not all(is_id(text) for text in chosen):
            raise ValidationError("a row is chosen by its id")
        if len(chosen) > MAX_CHOSEN or (across and len(queryset.values_list("pk")[: MAX_CHOSEN + 1]) > MAX_CHOSEN):
            raise ValidationError(f"at most {MAX_CHOSEN} rows at once")
        return super().response_action(request, queryset)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        credentials = CREDENTIALS if obj is None and issubclass(self.form, FreshForm) and not is_fresh(request) else ()
        return (*super().get_fields(request, obj), *credentials)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Put ``force`` first after a refusal that it overrides; leave it out before."""
        every: Any = super().get_fieldsets(request, obj)
        sets = [(title, {**options, "fields": _without_force(options["fields"])}) for title, options in every]
        if "force" in getattr(self.form, "declared_fields", {}) and (
            isinstance(REFUSAL.get(request), Overridable) or forced(request)
        ):
            sets[0][1]["fields"] = ("force", *sets[0][1]["fields"])
        return sets

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002 - signature of Django
        form = super().get_form(request, obj, change, **options)
        return type(form.__name__, (form,), {"refusal": REFUSAL.get(request)})

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        if request.method == "POST" and object_id is None and issubclass(self.form, FreshForm):
            _reauthenticate(request)
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except (Refusal, ValidationError, self.model.DoesNotExist) as error:
            # The transaction is rolled back. Show the form again with the reason; if the row is gone, go to the list.
            if not isinstance(error, self.model.DoesNotExist):
                REFUSAL.set(request, error)
            return super().changeform_view(request, object_id, form_url, extra_context)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        try:
            return super().delete_view(request, object_id, extra_context)
        except Overridable as error:
            again = self.redirect_refused(request, error, "delete", object_id)
            again["Location"] += f"?overrides={error.code}"  # the page then offers to force it
            return again
        except (Refusal, ValidationError) as error:
            return self.redirect_refused(request, error, "change", object_id)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.method != "POST":
            return super().changelist_view(request, extra_context)
        try:
            with transaction.atomic():  # all selected rows are deleted, or none
                return super().changelist_view(request, extra_context)
        except (Refusal, ValidationError) as error:
            return self.redirect_refused(request, error, "changelist")

    def redirect_refused(
        self, request: HttpRequest, error: Refusal | ValidationError, page: str, *arguments: str
    ) -> HttpResponse:
        for words in messages_of(error):
            self.message_user(request, words, messages.ERROR)
        options = self.model._meta  # noqa: SLF001 - Django's documented API
        name = f"{self.admin_site.name}:{options.app_label}_{options.model_name}_{page}"
        return HttpResponseRedirect(reverse(name, args=arguments))


class ShownOnceAdmin(ServiceAdmin):
    """Page of rows with a secret, which is shown in the response to the form that created the row."""

    form: type[ServiceForm] = FreshForm
    secret_label: str | Promise = _("The token")
    use_note: str | Promise = ""

    def use_lines(self, row: Any, secret: str) -> list[tuple[str | Promise, str]]:
        """Return lines that use the secret, each with its purpose."""
        return []

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        title = gettext("%(row)s was created") % {"row": obj}
        return self.show_once(request, obj, title, _SECRET.get(request) or "")

    def keep_for_response(self, request: HttpRequest, secret: str) -> None:
        """Store the secret for ``response_add``."""
        _SECRET.set(request, secret)

    def show_once(
        self, request: HttpRequest, row: Any, title: str, secret: str, *, label: str | Promise = ""
    ) -> HttpResponse:
        """Show the secret. Without a redirect: a message for the next page would store it in a cookie or a row."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "object": row,
            "title": title,
            "secret": secret,
            "secret_label": label or self.secret_label,
            "use_note": "" if label else self.use_note,
            "use_lines": [] if label else self.use_lines(row, secret),
        }
        return TemplateResponse(request, "admin/shown_once.html", context)


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """List and show rows that admins cannot change, because only our code writes them."""

    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def actor(request: HttpRequest) -> str:
    """Return the caller's name, for ``created_by`` and the revision."""
    return str(request.user)


def forced(request: HttpRequest) -> bool:
    """Return whether ``force`` was checked on a confirmation page."""
    return request.POST.get("force") == "on"


def _is_unnamed(kind: type[models.Model]) -> bool:
    return kind.__str__ is models.Model.__str__


def _named_rows(rows: Any, unnamed: tuple[str, ...]) -> list[Any]:
    """Return Django's nested list of rows without the unnamed ones, whose named descendants move up."""
    named: list[Any] = []
    is_named = False
    for row in rows:
        if isinstance(row, list):
            below = _named_rows(row, unnamed)
            named.extend([below] if below and is_named else below)
        elif is_named := not row.startswith(unnamed):
            named.append(row)
    return named


def _without_force(fields: Any) -> tuple[Any, ...]:
    return tuple(name for name in fields if name != "force")


def _reauthenticate(request: HttpRequest) -> None:
    """Re-authenticate before the page's transaction, whose rollback would undo the failure count."""
    password, code = (request.POST.get(name) or None for name in CREDENTIALS)
    try:
        require_fresh_sign_in(request, password=password, code=code[:LONGEST_CODE] if code else None)
    except Refusal as refusal:
        REFUSAL.set(request, refusal)
