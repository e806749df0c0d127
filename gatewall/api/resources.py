"""Base viewsets of API resources: parse, call one service, answer."""

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
from gatewall.api.fresh_sign_in import proven
from gatewall.api.pagination import everything, wants_everything
from gatewall.api.queries import refuse_unknown_parameters, search_text
from gatewall.api.serializers import StrictInput
from gatewall.api.views import ApiView
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Gone
from gatewall.policy import revisions

LIST_PARAMETERS = frozenset({"page", "page_size", "all", "ordering", "search"})
_OF_THE_WRITE = ("warnings", "confirm_by", "policy_pending")
"""What the answer to a write says besides the row. Sent back with the row, it is ignored."""


class Resource(ApiView, viewsets.GenericViewSet[Any]):
    """List, create, show, change and delete rows of one kind.

    Subclasses name ``output``, ``input`` and ``filterset_class``, and write ``create_row``,
    ``change_row``, ``delete_row``. Every answer with one row has its entity tag, and a write may be
    made to depend on it.
    """

    output: type[serializers.Serializer[Any]]
    output_on_create: type[serializers.Serializer[Any]] | None = None
    """What the creator is shown besides, for the OpenAPI document."""
    output_on_change: type[serializers.Serializer[Any]] | None = None
    """What is shown besides to who changed a row."""
    input: type[StrictInput]
    volatile: tuple[str, ...] = ()
    """Fields that change by themselves, without anybody's write: a write never depends on them."""
    rows_are_policy = False
    """True if no column changes without a new version of the policy: a long list is counted once for each then."""
    filterset_class: type[Filters] = ListFilters
    ordering_fields: tuple[str, ...] = ("id", "created_at")
    order_by: ClassVar[dict[str, Any]] = {}
    """The columns of ordering fields that are called otherwise."""
    search_fields: tuple[str, ...] = ()
    delete_parameters: ClassVar[dict[str, Any]] = {}
    """What a ``DELETE`` may be asked with, by JSON schema; it has no body that every proxy passes on."""
    lookup_value_regex = r"[0-9]{1,18}"
    http_method_names = ["get", "head", "options", "post", "put", "delete"]

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        return self.input  # what the form of the browsable page begins with

    def list(self, request: Request, **path: Any) -> HttpResponseBase:
        refuse_unknown_parameters(request, LIST_PARAMETERS | set(self.filterset_class.base_filters))
        rows = self._searched(self._filtered(self._ordered(self.get_queryset())))
        if wants_everything(request):
            return everything(request, rows, lambda piece: self.show(piece, many=True))
        return self.get_paginated_response(self.show(self.paginate_queryset(rows), many=True))

    def retrieve(self, request: Request, **path: Any) -> Response:
        shown = self.show(self.get_object())
        return etags.shown_if_changed(request, shown, self._tag(shown))

    def create(self, request: Request, **path: Any) -> Response:
        form = self.input(data=request.data, context=self.get_serializer_context())
        form.is_valid(raise_exception=True)
        row = self.create_row(**proven(request, form))
        shown = self.created(row)
        headers = {"Location": self._location(row), "ETag": self._tag(shown)}
        return Response(self._with_pending(shown), status=status.HTTP_201_CREATED, headers=headers)

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
        return Response(self._with_pending(shown), headers={"ETag": self._tag(shown)})

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
        """Create the row from what the input serializer accepted."""
        raise NotImplementedError

    def change_row(self, row: Any, **values: Any) -> object:
        """Change the fields that were sent."""
        raise NotImplementedError

    def delete_row(self, row: Any) -> None:
        """Delete the row."""
        raise NotImplementedError

    def warning_after_delete(self) -> str:
        """Return what is odd now that a row is gone; empty by default. The answer has no body to say it in."""
        return ""

    def created(self, row: models.Model) -> dict[str, Any]:
        """Return what the creator is shown, which may be more than is shown ever after."""
        fresh = self.get_queryset().filter(pk=row.pk).first()
        if fresh is None:
            raise Gone("it was deleted as soon as it was made")
        return dict(self.show(fresh))

    def changed(self, row: Any) -> dict[str, Any]:
        """Return what is shown to who changed the row, which may be more than is shown ever after."""
        return dict(self.show(row))

    def show(self, row: Any, *, many: bool = False) -> Any:
        """Return the JSON of a row, or of many."""
        return self.output(row, many=many, context=self.get_serializer_context()).data

    @property
    def actor(self) -> str:
        """The name of the caller, for ``created_by`` and the revision."""
        return str(self.request.user)

    @property
    def caller(self) -> Caller | None:
        """From where the caller calls, for the services that must not shut them out."""
        return caller_of(self.request)

    @property
    def force(self) -> bool:
        """The parameter ``force`` of a ``DELETE``, which has no body. Raises ValidationError."""
        text = self.request.query_params.get("force", "false")
        if text not in {"true", "false"}:
            raise ValidationError({"force": ["true or false"]})
        return text == "true"

    # Whoever holds the head of the policy sees what was committed and keeps others out until their own
    # commit: of two writes with the same tag, the second finds the tag of the first.
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

    def _with_pending(self, shown: dict[str, Any]) -> dict[str, Any]:
        """Return the row, and what is to be known of the change: it is not in force yet, or is to be confirmed."""
        pending = {"policy_pending": True} if revisions.publication_is_pending() else {}
        return {**shown, **_confirm_by(), **pending}

    def _location(self, row: models.Model) -> str:
        return f"{self.request.path}/{row.pk}"

    def _ordered(self, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Order the rows as asked for, by id where they are equal; without a value comes last, and first in reverse."""
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


def _confirm_by() -> dict[str, str]:
    moment = revisions.confirm_by()
    return {"confirm_by": str(serializers.DateTimeField().to_representation(moment))} if moment else {}
