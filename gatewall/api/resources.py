"""A resource: parse, one call of a service, answer. The subclasses say which call."""

from typing import Any

from django.db import models
from rest_framework import serializers, status, viewsets
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall import revisions
from gatewall.api.caller import caller_of
from gatewall.api.serializers import StrictInput
from gatewall.clientip import Caller
from gatewall.refusals import Gone

_LIST_PARAMETERS = frozenset({"page", "page_size", "all", "ordering", "search", "format"})


class Resource(viewsets.GenericViewSet[Any]):
    """List, create, show, change and delete rows of one kind.

    Subclasses name ``output`` and ``input``, and write ``create_row``, ``change_row``, ``delete_row``.
    """

    output: type[serializers.BaseSerializer[Any]]
    input: type[StrictInput]
    ordering_fields: tuple[str, ...] = ("id", "created_at")
    search_fields: tuple[str, ...] = ()
    parameters: frozenset[str] = frozenset()
    """What a list is asked by besides what every list is."""
    lookup_value_regex = r"[0-9]{1,18}"
    http_method_names = ["get", "head", "options", "post", "put", "delete"]

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        return self.input  # what OPTIONS describes

    def list(self, request: Request, **path: Any) -> Response:
        rows = self.paginate_queryset(self._searched(self._ordered(self.get_queryset())))
        return self.get_paginated_response(self.show(rows, many=True))

    def retrieve(self, request: Request, **path: Any) -> Response:
        return Response(self.show(self.get_object()))

    def create(self, request: Request, **path: Any) -> Response:
        form = self.input(data=request.data, context=self.get_serializer_context())
        form.is_valid(raise_exception=True)
        row = self.create_row(**form.validated_data)
        shown = self._with_pending(self.created(row))
        return Response(shown, status=status.HTTP_201_CREATED, headers={"Location": self._location(row)})

    def update(self, request: Request, **path: Any) -> Response:
        row = self.get_object()
        shown = serializers.JSONField().to_representation(self.show(row))
        context = {**self.get_serializer_context(), "shown": shown, "row": row}
        form = self.input(data=request.data, partial=True, context=context)
        form.is_valid(raise_exception=True)
        self.change_row(row, **form.validated_data)
        return Response(self._with_pending(dict(self.show(self.get_object()))))

    def destroy(self, request: Request, **path: Any) -> Response:
        self.delete_row(self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)

    def create_row(self, **values: Any) -> models.Model:
        """Create the row from what the input serializer accepted."""
        raise NotImplementedError

    def change_row(self, row: Any, **values: Any) -> object:
        """Change the fields that were sent."""
        raise NotImplementedError

    def delete_row(self, row: Any) -> None:
        """Delete the row."""
        raise NotImplementedError

    def created(self, row: models.Model) -> dict[str, Any]:
        """Return what the creator is shown, which may be more than is shown ever after."""
        fresh = self.get_queryset().filter(pk=row.pk).first()
        if fresh is None:
            raise Gone("it was deleted as soon as it was made")
        return dict(self.show(fresh))

    def show(self, row: Any, *, many: bool = False) -> Any:
        """Return the JSON of a row, or of many."""
        return self.output(row, many=many, context=self.get_serializer_context()).data

    @property
    def actor(self) -> str:
        """The name of the caller, for ``created_by`` and the revision."""
        return str(self.request.user)

    @property
    def caller(self) -> Caller | None:
        """From where the caller calls, for the services that must not shut him out."""
        return caller_of(self.request)

    @property
    def force(self) -> bool:
        """The parameter ``force`` of a ``DELETE``, which has no body. Raises ValidationError."""
        text = self.request.query_params.get("force", "false")
        if text not in {"true", "false"}:
            raise ValidationError({"force": ["true or false"]})
        return text == "true"

    def _with_pending(self, shown: dict[str, Any]) -> dict[str, Any]:
        return {**shown, "policy_pending": True} if revisions.publication_is_pending() else shown

    def _location(self, row: models.Model) -> str:
        return f"{self.request.path}/{row.pk}"

    def _ordered(self, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
        self._refuse_unknown_parameters()
        field = self.request.query_params.get("ordering")
        if field is None:
            return rows
        if field.removeprefix("-") not in self.ordering_fields:
            raise ValidationError({"ordering": [f"one of {', '.join(self.ordering_fields)}, or with - before it"]})
        return rows.order_by(field, "pk")

    def _searched(self, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
        text = self.request.query_params.get("search", "").replace("\0", "")
        if not text:
            return rows
        if not self.search_fields:
            raise ValidationError({"search": ["this list has no text to search"]})
        matches = models.Q()
        for field in self.search_fields:
            matches |= models.Q((f"{field}__icontains", text))
        return rows.filter(matches)

    def _refuse_unknown_parameters(self) -> None:
        known = _LIST_PARAMETERS | self.parameters
        known |= set(getattr(getattr(self, "filterset_class", None), "base_filters", ()))
        unknown = sorted(set(self.request.query_params) - known)
        if unknown:
            raise ValidationError({name: ["there is no such parameter"] for name in unknown})
