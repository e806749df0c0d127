"""Base viewsets of API resources: parse, call one service, respond."""

from typing import Any, ClassVar

from django.db import models
from django.db.models import F
from django.http.response import HttpResponseBase
from rest_framework import serializers, status, viewsets
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api import etags
from gatewall.api.caller import caller_of
from gatewall.api.filters import Filters, ListFilters
from gatewall.api.fresh_sign_in import reauthenticated_values
from gatewall.api.pagination import everything, wants_everything
from gatewall.api.queries import refuse_unknown_parameters, search_text
from gatewall.api.serializers import StrictInput
from gatewall.api.views import ApiView
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Gone
from gatewall.policy import revisions

LIST_PARAMETERS = frozenset({"page", "page_size", "all", "ordering", "search"})
_OF_THE_WRITE = ("warnings", "confirm_by", "policy_pending")
"""Fields of the response to a write beside the row; ignored if sent back."""


class Resource(ApiView, viewsets.GenericViewSet[Any]):
    """List, create, show, change and delete rows of one kind.

    Subclasses set ``output``, ``input`` and ``filterset_class``, and define ``create_row``, ``change_row`` and
    ``delete_row``. Responses with one row have an entity tag, and writes may be conditional.
    """

    nouns: tuple[str, str]
    """Nouns for a row, with its article, and for the list: "a user", "users"."""
    output: type[serializers.Serializer[Any]]
    output_on_create: type[serializers.Serializer[Any]] | None = None
    """Additional fields for the creator, for the OpenAPI document."""
    output_on_change: type[serializers.Serializer[Any]] | None = None
    """Additional fields in the response to a change."""
    input: type[StrictInput]
    volatile: tuple[str, ...] = ()
    """Fields that change without a write, and are ignored by conditional writes."""
    rows_are_policy = False
    """Whether every change of a row advances the policy version, so that counts of long lists can be cached."""
    filterset_class: type[Filters] = ListFilters
    ordering_fields: tuple[str, ...] = ("id", "created_at")
    order_by: ClassVar[dict[str, Any]] = {}
    """Columns of ordering fields, where the names differ."""
    search_fields: tuple[str, ...] = ()
    delete_parameters: ClassVar[dict[str, Any]] = {}
    """Query parameters of ``DELETE`` by JSON schema, as not every proxy forwards its body."""
    lookup_value_regex = r"[0-9]{1,18}"
    http_method_names = ["get", "head", "options", "post", "put", "delete"]

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        return self.input  # for the form of the browsable page

    def list(self, request: Request, **path: Any) -> HttpResponseBase:
        refuse_unknown_parameters(request, LIST_PARAMETERS | set(self.filterset_class.base_filters))
        rows = self._searched(self._filtered(self._ordered(self.get_queryset())))
        if wants_everything(request):
            return everything(request, rows, lambda piece: self.show(piece, many=True))
        return self.get_paginated_response(self.show(self.paginate_queryset(rows), many=True))

    def retrieve(self, request: Request, **path: Any) -> Response:
        shown = self.show(self.get_object())
        return etags.conditional_response(request, shown, self._tag(shown))

    def create(self, request: Request, **path: Any) -> Response:
        form = self.input(data=request.data, context=self.get_serializer_context())
        form.is_valid(raise_exception=True)
        row = self.create_row(**reauthenticated_values(request, form))
        shown = self.created(row)
        headers = {"Location": self._location(row), "ETag": self._tag(shown)}
        return Response(with_publication(shown), status=status.HTTP_201_CREATED, headers=headers)

    def update(self, request: Request, **path: Any) -> Response:
        row = self.get_object()
        self._refuse_stale(row)
        ignored = (*self.volatile, *_OF_THE_WRITE)
        context = {**self.get_serializer_context(), "shown": self.show(row), "volatile": ignored, "row": row}
        form = self.input(data=request.data, partial=True, context=context)
        form.is_valid(raise_exception=True)
        if etags.has_condition(request):
            self._change_as_it_is(**form.validated_data)
        else:
            self.change_row(row, **form.validated_data)
        shown = self.changed(self.get_object())
        return Response(with_publication(shown), headers={"ETag": self._tag(shown)})

    def destroy(self, request: Request, **path: Any) -> Response:
        row = self.get_object()
        if etags.has_condition(request):
            self._delete_as_it_is()
        else:
            self.delete_row(row)
        response = Response(status=status.HTTP_204_NO_CONTENT)
        for text in _confirm_by().values():
            response.headers["X-Gatewall-Confirm-By"] = text
        if warning := self.warning_after_delete():
            response.headers["X-Gatewall-Warning"] = warning
        return response

    def create_row(self, **values: Any) -> models.Model:
        """Create a row from validated input."""
        raise NotImplementedError

    def change_row(self, row: Any, **values: Any) -> object:
        """Change the fields that were sent."""
        raise NotImplementedError

    def delete_row(self, row: Any) -> None:
        raise NotImplementedError

    def warning_after_delete(self) -> str:
        """Return a warning for the response header after a deletion, or ""."""
        return ""

    def created(self, row: models.Model) -> dict[str, Any]:
        """Return the JSON for the creator, with secrets that are shown once."""
        fresh = self.get_queryset().filter(pk=row.pk).first()
        if fresh is None:
            raise Gone("it was deleted as soon as it was made")
        return dict(self.show(fresh))

    def changed(self, row: Any) -> dict[str, Any]:
        """Return the JSON for the response to a change."""
        return dict(self.show(row))

    def show(self, row: Any, *, many: bool = False) -> Any:
        return self.output(row, many=many, context=self.get_serializer_context()).data

    @property
    def actor(self) -> str:
        """The caller's name, for ``created_by`` and the revision."""
        return str(self.request.user)

    @property
    def caller(self) -> Caller | None:
        """The client, for the lock-out check."""
        return caller_of(self.request)

    @property
    def force(self) -> bool:
        """The parameter ``force`` of a ``DELETE``. Raises ValidationError."""
        text = self.request.query_params.get("force", "false")
        if text not in {"true", "false"}:
            raise ValidationError({"force": ["true or false"]})
        return text == "true"

    # Under the policy lock, so that the second of two conditional writes with the same tag is refused.
    @revisions.one_at_a_time
    def _change_as_it_is(self, **values: Any) -> None:
        row = self.get_object()
        self._refuse_stale(row)
        self.change_row(row, **values)

    @revisions.one_at_a_time
    def _delete_as_it_is(self) -> None:
        row = self.get_object()
        self._refuse_stale(row)
        self.delete_row(row)

    def _refuse_stale(self, row: Any) -> None:
        etags.refuse_stale(self.request, self._tag(self.show(row)))

    def _tag(self, shown: dict[str, Any]) -> str:
        fields = self.output().fields.keys()
        return etags.tag_of({name: shown[name] for name in fields if name in shown}, self.volatile)

    def _location(self, row: models.Model) -> str:
        return f"{self.request.path}/{row.pk}"

    def _ordered(self, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Order rows by the request, then by id; nulls last ascending, first descending."""
        field = self.request.query_params.get("ordering")
        if field is None:
            return rows
        name = field.removeprefix("-")
        if name not in self.ordering_fields:
            raise ValidationError({"ordering": [f"one of {', '.join(self.ordering_fields)}, or with - before it"]})
        column = self.order_by.get(name, F(name))
        if field.startswith("-"):
            return rows.order_by(column.desc(nulls_first=True), "-pk")
        return rows.order_by(column.asc(nulls_last=True), "pk")

    def _filtered(self, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
        return self.filterset_class(data=self.request.query_params, queryset=rows, request=self.request).chosen()

    def _searched(self, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
        text = search_text(self.request)
        if not text:
            return rows
        if not self.search_fields:
            raise ValidationError({"search": ["this list has no text to search"]})
        matches = models.Q()
        for field in self.search_fields:
            matches |= models.Q((f"{field}__icontains", text))
        return rows.filter(matches)


def with_publication(shown: dict[str, Any]) -> dict[str, Any]:
    """Add to the response to a change whether it is not yet in force or must be confirmed."""
    pending = {"policy_pending": True} if revisions.publication_is_pending() else {}
    return {**shown, **_confirm_by(), **pending}


def _confirm_by() -> dict[str, str]:
    moment = revisions.confirm_by()
    return {"confirm_by": str(serializers.DateTimeField().to_representation(moment))} if moment else {}
