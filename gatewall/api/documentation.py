"""API views of the OpenAPI document (``/schema``) and Swagger UI (``/docs``), without third-party assets."""

from functools import cache
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import translation
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer2, OpenApiYamlRenderer, OpenApiYamlRenderer2
from rest_framework.renderers import StaticHTMLRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.caller import django_request
from gatewall.api.content_policy import content_security_policy
from gatewall.api.operations import operation
from gatewall.api.scopes import SYSTEM
from gatewall.api.views import ApiView


@cache
def _document() -> Any:
    """Return the document, cached for the life of the process."""
    with translation.override("en"):  # not in the language of the first caller
        return SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # in drf-spectacular


class Document(ApiView):
    """The OpenAPI 3.1 document of the API, as JSON or, by ``Accept``, as YAML."""

    area = SYSTEM
    renderer_classes = [OpenApiJsonRenderer2, OpenApiYamlRenderer, OpenApiYamlRenderer2]

    @operation(answer={"type": "object", "required": ["openapi", "info", "paths"]})
    def get(self, request: Request) -> Response:
        return Response(_document())


class Docs(ApiView):
    """Swagger UI: the OpenAPI document as an interactive page."""

    area = SYSTEM
    renderer_classes = [StaticHTMLRenderer]

    @operation(answer={"type": "string"}, media_type="text/html")
    def get(self, request: Request) -> HttpResponse:
        response = render(django_request(request), "gatewall/docs.html")
        response["Content-Security-Policy"] = content_security_policy(scripts_call_us=True)
        return response
