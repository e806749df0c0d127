"""Browsable API: an HTML page per response, under our content security policy."""

import json
from http import HTTPStatus
from typing import Any

from rest_framework.exceptions import APIException
from rest_framework.metadata import BaseMetadata
from rest_framework.renderers import BrowsableAPIRenderer
from rest_framework.request import Request

from gatewall.api.content_policy import content_security_policy

_ACCESSIBLE = (
    ("<html>", '<html lang="en">'),  # the API speaks English
    ('"content-main" role="main"', '"content-main" role="region"'),  # it is inside another element with the role "main"
    ('<pre class="prettyprint">', '<pre class="prettyprint" tabindex="0">'),  # it scrolls
)
"""What DRF's template (3.18) lacks for screen readers and keyboards, where it has no block to override."""


class Page(BrowsableAPIRenderer):
    """DRF's HTML renderer, with a policy that lets its scripts call the API."""

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> str:
        page: str = super().render(data, accepted_media_type, renderer_context)
        for theirs, ours in _ACCESSIBLE:
            page = page.replace(theirs, ours)
        response = (renderer_context or {}).get("response")
        if response is not None:
            response["Content-Security-Policy"] = content_security_policy(scripts_call_us=True)
        return page

    def get_context(self, data: Any, accepted_media_type: str | None, renderer_context: Any) -> dict[str, Any]:
        """Return the template context, without the inline style that DRF adds if Pygments is installed."""
        return {**super().get_context(data, accepted_media_type, renderer_context), "code_style": None}

    def get_raw_data_form(self, data: Any, view: Any, method: str, request: Request) -> Any:
        """Return the raw JSON form, prefilled with rejected input, the row (PUT) or the required fields."""
        form = super().get_raw_data_form(data, view, method, request)
        operation = getattr(getattr(view, method.lower(), None), "operation", None)
        accepted = getattr(view, "input", None) or (operation and operation.body)
        if form is None or accepted is None:
            return form
        fields = accepted().fields
        required = {name: "" for name, field in fields.items() if field.required}
        there = data if method == "PUT" and isinstance(data, dict) else {}
        begin = {name: there[name] for name in fields if name in there} or required
        begin = {**begin, **_refused(view, method)}
        form.fields["_content"].initial = json.dumps(begin, indent=4, default=str, ensure_ascii=False)
        return form


def _refused(view: Any, method: str) -> dict[str, Any]:
    """Return the rejected input of a resource without its write-only fields, to prefill the form."""
    refused = view.response.status_code >= HTTPStatus.BAD_REQUEST and view.request.method == method
    if not (refused and hasattr(view, "input")):
        return {}
    try:
        sent = view.request.data
    except APIException:
        return {}  # not JSON
    fields = view.input().fields.items()
    return {name: sent[name] for name, field in fields if name in sent and not field.write_only}


class Methods(BaseMetadata):
    """Response to OPTIONS after authentication: name and allowed methods."""

    def determine_metadata(self, request: Request, view: Any) -> dict[str, Any]:
        return {"name": view.get_view_name(), "methods": list(view.allowed_methods)}
