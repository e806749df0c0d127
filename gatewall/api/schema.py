"""Generate the OpenAPI document from the views. The only adapter of drf-spectacular.

A ``Resource`` is described by its serializers, filters and orderings; every other method by its
``gatewall.api.operations.Operation``. ``complete`` adds the parts that all operations share.
"""

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.utils.module_loading import autodiscover_modules
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent, get_doc
from rest_framework import serializers
from rest_framework.permissions import AllowAny

from gatewall.api import operation_words
from gatewall.api.etags import TAGS_PATTERN
from gatewall.api.fields import describe
from gatewall.api.fields.common import COMMON
from gatewall.api.operations import Operation
from gatewall.api.pagination import MAX_PAGE, MAX_PAGE_SIZE, PAGE_SIZE
from gatewall.api.queries import MAX_SEARCH, WITHOUT_NULL
from gatewall.api.resources import Resource
from gatewall.api.schema_problems import headers, problem_responses, problem_schemas
from gatewall.api.scopes import Scope, scope_of
from gatewall.api.serializers import StrictInput, TextField
from gatewall.api.views import ApiView

Schema = dict[str, Any]
_PENDING = {
    "policy_pending": {"type": "boolean", "description": COMMON["policy_pending"].text},
    "confirm_by": {"type": "string", "format": "date-time", "description": COMMON["confirm_by"].text},
}
_CONDITIONS = {"PUT": "If-Match", "DELETE": "If-Match", "GET": "If-None-Match"}
_TAGS = {"If-Match": {"pattern": TAGS_PATTERN}, "If-None-Match": {}}
_SESSION: list[Schema] = [{"sessionHeader": []}, {"sessionCookie": []}]
_ADMIN_SESSION: Schema = {"adminSession": []}


class OperationSchema(AutoSchema):
    """Describe one operation of the API."""

    def is_excluded(self) -> bool:
        """Exclude undeclared methods, for which a test fails."""
        return not isinstance(self.view, Resource) and self._operation is None

    def get_summary(self) -> str:
        return self._words()[0]

    def get_description(self) -> str:  # type: ignore[override]  # as in AutoSchema
        return operation_words.with_access(self._words()[1], is_public=self._is_public, scope=self._scope)

    def get_operation_id(self) -> str:
        if self._operation is None:
            return str(super().get_operation_id())
        usual = {"GET": ["show"], "PUT": ["change"], "DELETE": ["delete"]}.get(self.method, [])
        verb = [self._operation.verb] if self._operation.verb else usual
        return "_".join([*(token.replace("-", "_") for token in self._tokenize_path()), *verb])

    def get_auth(self) -> list[Schema]:
        if self._is_public:
            return []
        by_admin = [_ADMIN_SESSION] if "AdminSessionAuthentication" in self._authentications else []
        return [*_SESSION, *by_admin, *([{"apiToken": [self._scope.value]}] if self._scope else [])]

    def get_serializer_name(self, serializer: Any, direction: str) -> str:
        return type(serializer).__name__.removesuffix("Output")

    def _words(self) -> tuple[str, str]:
        """Return summary and description."""
        doc = get_doc(type(self.view))
        if self._resource is not None:
            return operation_words.of_resource(doc, self._resource.nouns, self._resource.action)
        return operation_words.of_method(get_doc(getattr(self.view, self._method_name)) or doc)

    @property
    def _method_name(self) -> str:
        return getattr(self.view, "action", None) or self.method.lower()

    @property
    def _authentications(self) -> set[str]:
        return {kind.__name__ for kind in self.view.authentication_classes}

    @property
    def _scope(self) -> Scope | None:
        return scope_of(self.view, self.method) if "ApiTokenAuthentication" in self._authentications else None

    @property
    def _operation(self) -> Operation | None:
        return getattr(getattr(self.view, self._method_name, None), "operation", None)

    @property
    def _resource(self) -> Resource | None:
        """The view, if its serializers and filters describe the method."""
        return self.view if isinstance(self.view, Resource) and self._operation is None else None

    @property
    def _is_public(self) -> bool:
        return any(isinstance(each, AllowAny) for each in self.view.get_permissions())

    def _is_list_view(self, serializer: Any = None) -> bool:
        return getattr(self.view, "action", None) == "list"

    def _get_parameters(self) -> list[Schema]:
        found, resource = [*self._path_parameters()], self._resource
        if resource is not None and resource.action == "list":
            found += [_query(name, schema) for name, schema in _list_parameters(resource).items()]
        if resource is not None and resource.action == "destroy":
            found += [_query(name, schema) for name, schema in resource.delete_parameters.items()]
        if self._operation is not None:
            found += [_query(name, dict(schema)) for name, schema in self._operation.parameters.items()]
        if self._is_tagged and self.method in _CONDITIONS:
            name = _CONDITIONS[self.method]
            found.append({"in": "header", "name": name, "schema": {"type": "string", **_TAGS[name]}})
        return found

    def _path_parameters(self) -> Iterator[Schema]:
        for name in re.findall(r"\{(\w+)\}", self.path):
            # drf-spectacular writes {id} where the route has pk
            regex, spelt = self.path_regex, "pk" if name == "id" else name
            schema: Schema = {"type": "string"}
            if f"<uuid:{name}>" in regex or name == "jti":
                schema = {"type": "string", "format": "uuid"}
            elif f"<slug:{name}>" in regex:
                schema = {"type": "string", "pattern": "^[-a-zA-Z0-9_]+$"}
            elif any(f"<int:{each}>" in regex or f"(?P<{each}>[0-9]" in regex for each in (name, spelt)):
                schema = {"type": "integer", "minimum": 1}
            yield {"in": "path", "name": name, "required": True, "schema": schema}

    def _get_request_body(self, direction: str = "request") -> Schema | None:
        body: type[serializers.Serializer[Any]] | None = None
        is_partial = False
        if self._resource is not None and self.method in {"POST", "PUT"}:
            body, is_partial = getattr(self._resource, "input", None), self.method == "PUT"
        elif self._operation is not None:
            body, is_partial = self._operation.body, self._operation.is_partial
        if body is None:
            return None
        schema = self._part_of(body) if is_partial else self.resolve_serializer(body, "request").ref
        form = body()
        is_needed = any(field.required for field in form.fields.values()) or bool(getattr(form, "one_of", ()))
        required = is_needed and not is_partial
        return {"required": required, "content": {"application/json": {"schema": schema}}}

    def _part_of(self, body: type[serializers.Serializer[Any]]) -> Schema:
        """Return a body of any subset of the fields, in which read-only ones may be sent back."""
        name = f"{self.get_serializer_name(body(), 'request').removesuffix('Input')}Change"
        component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, object=(body, "change"))  # type: ignore[no-untyped-call]  # in drf-spectacular
        if component not in self.registry:
            schema = self._map_serializer(body(partial=True), "request")
            schema.pop("required", None)
            if self._resource is not None:
                shown = self._map_serializer(self._resource.output(), "response")["properties"]
                schema["properties"] = {**shown, **schema["properties"]}
            component.schema = schema
            self.registry.register(component)
        return self.registry[component].ref

    def _map_serializer(self, serializer: Any, direction: str, bypass_extensions: bool = False) -> Schema:  # noqa: FBT001, FBT002 - as in the base class
        schema: Schema = super()._map_serializer(serializer, direction, bypass_extensions)  # type: ignore[no-untyped-call]  # in AutoSchema
        schema.pop("description", None)
        if isinstance(serializer, StrictInput):
            for name, field in serializer.fields.items():
                schema["properties"][name] |= field.openapi if isinstance(field, TextField) else {}
            forms = [{"required": [name]} for name in serializer.one_of]
            return {**schema, **({"oneOf": forms} if forms else {}), "additionalProperties": False}
        optional = {name for name, each in serializer.fields.items() if not each.required and not each.read_only}
        for each in schema.get("properties", {}).values():
            each.pop("readOnly", None)
        schema["required"] = sorted(set(schema.get("properties", ())) - optional)
        return schema

    def _map_serializer_field(self, field: Any, direction: str, bypass_extensions: bool = False) -> Any:  # noqa: FBT001, FBT002 - as in the base class
        if shape := getattr(field, "shape", None):
            return dict(shape)
        return super()._map_serializer_field(field, direction, bypass_extensions)  # type: ignore[no-untyped-call]  # in AutoSchema

    def _get_response_bodies(self, direction: str = "response") -> Schema:
        answers = dict(self._answers())
        problems = {status: {"$ref": f"#/components/responses/Problem{status}"} for status in self._problems()}
        return {str(status): each for status, each in sorted({**problems, **answers}.items())}

    def _answers(self) -> Iterator[tuple[int, Schema]]:
        if self._resource is None:
            for status, output in (self._operation.answers if self._operation else {}).items():
                yield status, self._answer(status, self._shape_of(output))
        else:
            status = {"create": 201, "destroy": 204}.get(self._resource.action, 200)
            yield status, self._answer(status, self._shape_of_resource(self._resource))
        if self._is_tagged and self.method == "GET":
            yield 304, {"description": "the caller has it already", "headers": headers("ETag")}

    def _shape_of(self, output: Any) -> Schema | None:
        if output is None or isinstance(output, Mapping):
            return None if output is None else dict(output)
        if isinstance(output, tuple):
            return {"oneOf": [self._shape_of(each) for each in output]}
        return self.resolve_serializer(output, "response").ref

    def _shape_of_resource(self, resource: Resource) -> Schema | None:
        if resource.action == "destroy":
            return None
        one = self.resolve_serializer(resource.output, "response").ref
        match resource.action:
            case "list":
                return _envelope(one)
            case "create" | "update":
                extra = resource.output_on_create if resource.action == "create" else resource.output_on_change
                more = [self.resolve_serializer(extra, "response").ref] if extra else []
                return {"allOf": [one, *more, {"type": "object", "properties": _PENDING}]}
        return one

    def _answer(self, status: int, shape: Schema | None) -> Schema:
        names = ["Location"] if status == 201 else []
        names += ["ETag"] if self._is_tagged and status in {200, 201} else []
        answer: Schema = {"description": HTTPStatus(status).phrase}
        if names:
            answer["headers"] = headers(*names)
        if shape is not None:
            media_type = self._operation.media_type if self._operation else "application/json"
            exports = self._operation.exports if self._operation else ()
            answer["content"] = {media_type: {"schema": shape}} | {
                each.partition(";")[0]: {"schema": {"type": "string"}} for each in exports
            }
        return answer

    @property
    def _is_tagged(self) -> bool:
        if self._resource is not None:
            return self._resource.action != "list"
        return self._operation is not None and self._operation.is_tagged

    def _problems(self) -> set[int]:
        found = {400, 406, 500, 503} | (self._operation.refuses if self._operation else set())
        if isinstance(self.view, ApiView) and self.view.is_rate_limited:
            found.add(429)
        if not self._is_public:
            found |= {401, 403}
        if "{" in self.path or (self._resource is not None and self._is_list_view()):
            found.add(404)
        if self.method in {"POST", "PUT"}:
            found |= {411, 413, 415}
        if self._resource is not None and self.method != "GET":
            found.add(409)
        if self._is_tagged and self.method in {"PUT", "DELETE"}:
            found.add(412)
        return found


def _list_parameters(resource: Resource) -> dict[str, Schema]:
    orderings = [each for name in resource.ordering_fields for each in (name, f"-{name}")]
    filters = resource.filterset_class.base_filters
    return {
        "page": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1},
        "page_size": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": PAGE_SIZE},
        "all": {"type": "boolean", "default": False},
        "ordering": {"type": "string", "enum": orderings},
        **({"search": {"type": "string", "maxLength": MAX_SEARCH}} if resource.search_fields else {}),
        **{name: dict(each.field.openapi) for name, each in filters.items()},
    }


def complete(result: Schema, generator: Any, request: Any, public: bool) -> Schema:  # noqa: FBT001 - drf-spectacular's
    """Add the parts that all operations share: problems, headers and security schemes."""
    autodiscover_modules("hashers")  # Django imports them lazily; their refusals must be known
    components = result["components"]
    components["schemas"] |= problem_schemas()
    describe(components["schemas"])
    components["responses"] = problem_responses()
    components["headers"] = {
        "ETag": {"description": "a strong tag of the object", "schema": {"type": "string"}},
        "Location": {"description": "the path of the new object", "schema": {"type": "string"}},
        "Retry-After": {"description": "whole seconds", "schema": {"type": "integer", "minimum": 1}},
        "WWW-Authenticate": {"schema": {"type": "string"}},
    }
    components["securitySchemes"] = {
        "sessionHeader": {"type": "apiKey", "in": "header", "name": "Service-Authorization"},
        "sessionCookie": {"type": "apiKey", "in": "cookie", "name": "service.token"},
        "apiToken": {"type": "http", "scheme": "bearer", "bearerFormat": "gwa_..."},
        "adminSession": {"type": "apiKey", "in": "cookie", "name": "gatewall.admin"},
    }
    return result


def _envelope(one: Schema) -> Schema:
    link = {"type": ["string", "null"], "format": "uri"}
    properties = {"count": {"type": "integer"}, "next": link, "previous": link}
    properties["results"] = {"type": "array", "items": one}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _query(name: str, schema: Schema) -> Schema:
    if schema.get("type") == "string" and not schema.keys() & {"enum", "format", "pattern"}:
        schema = {**schema, "pattern": WITHOUT_NULL}
    return {"in": "query", "name": name, "schema": schema}
