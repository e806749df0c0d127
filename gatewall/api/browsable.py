"""The API in a browser: a page for each answer, under our content security policy."""

import json
from typing import Any

from rest_framework.metadata import BaseMetadata
from rest_framework.renderers import BrowsableAPIRenderer
from rest_framework.request import Request

from gatewall.api.content_policy import content_security_policy


class Page(BrowsableAPIRenderer):
    """DRF's page. Its forms send JSON by script, so its scripts may call us; nothing else is loosened."""

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> str:
        page: str = super().render(data, accepted_media_type, renderer_context)
        response = (renderer_context or {}).get("response")
        if response is not None:
            response["Content-Security-Policy"] = content_security_policy(scripts_call_us=True)
        return page

    def get_context(self, data: Any, accepted_media_type: str, renderer_context: Any) -> dict[str, Any]:
        """Return what the template shows, without the inline style that DRF adds where Pygments is installed."""
        return {**super().get_context(data, accepted_media_type, renderer_context), "code_style": None}

    def get_raw_data_form(self, data: Any, view: Any, method: str, request: Request) -> Any:
        """Return the form for JSON: what is there now for PUT, the names that are required for POST."""
        form = super().get_raw_data_form(data, view, method, request)
        accepted = getattr(view, "input", None)
        if form is None or accepted is None:
            return form
        fields = accepted().fields
        if method == "PUT" and isinstance(data, dict):
            begin = {name: data[name] for name in fields if name in data}
        else:
            begin = {name: "" for name, field in fields.items() if field.required}
        form.fields["_content"].initial = json.dumps(begin, indent=4, default=str, ensure_ascii=False)
        return form


class Methods(BaseMetadata):
    """The answer to OPTIONS, which comes after the caller was looked at: what may be called, and no row of anything."""

    def determine_metadata(self, request: Request, view: Any) -> dict[str, Any]:
        """Return what the resource is called and its methods."""
        return {"name": view.get_view_name(), "methods": list(view.allowed_methods)}
