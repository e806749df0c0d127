"""Language negotiation of an answer."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.utils import translation


class Language(LocaleMiddleware):
    """Pages speak the visitor's language (``Accept-Language``); the API speaks English to everybody."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        """Put the language back for a view of DRF, whose own words would be translated."""
        if hasattr(view, "cls"):
            translation.activate(settings.LANGUAGE_CODE)
            request.LANGUAGE_CODE = settings.LANGUAGE_CODE
