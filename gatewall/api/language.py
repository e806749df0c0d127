"""Language negotiation."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.utils import translation


class Language(LocaleMiddleware):
    """Use the visitor's language (``Accept-Language``) on pages, and English in the API."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        """Reset the language for DRF views, whose own messages would be translated."""
        if hasattr(view, "cls"):
            translation.activate(settings.LANGUAGE_CODE)
            request.LANGUAGE_CODE = settings.LANGUAGE_CODE
