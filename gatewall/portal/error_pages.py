"""Error pages for browsers: HTML instead of a problem document."""

from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from gatewall.api.content_policy import content_security_policy
from gatewall.api.middleware import largest_body_at
from gatewall.api.problems import MEDIA_TYPE
from gatewall.portal.pages import own_url

_TITLES = {
    HTTPStatus.UNAUTHORIZED: gettext_noop("Sign in first"),
    HTTPStatus.FORBIDDEN: gettext_noop("You may not open this page"),
    HTTPStatus.NOT_FOUND: gettext_noop("This page does not exist"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: gettext_noop("This is too large"),
    HTTPStatus.INTERNAL_SERVER_ERROR: gettext_noop("Something went wrong on our side"),
    HTTPStatus.SERVICE_UNAVAILABLE: gettext_noop("The database does not answer"),
}
_KEPT_HEADERS = ("Allow", "Retry-After", "WWW-Authenticate")


class ErrorPages:
    """Middleware: replace a problem document by an HTML page when a browser navigates. Reads no database.

    Determines the language, because other middleware may refuse a request before its language is known.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        is_problem = response.status_code in _TITLES and response.headers.get("Content-Type") == MEDIA_TYPE
        if not (is_problem and _is_navigation(request)):
            return response
        with translation.override(language := translation.get_language_from_request(request)):
            page = _page(request, response)
        page["Content-Language"] = language
        patch_vary_headers(page, ("Accept-Language",))
        return page


def _is_navigation(request: HttpRequest) -> bool:
    """Return whether a browser opens a page or sends a form: by ``Accept`` and, over HTTPS, by Fetch Metadata."""
    accepts_pages = "text/html" in request.headers.get("Accept", "").lower()
    return accepts_pages and request.headers.get("Sec-Fetch-Mode", "navigate") == "navigate"


def _page(request: HttpRequest, problem: HttpResponse) -> HttpResponse:
    own, status = own_url(request), HTTPStatus(problem.status_code)
    sign_in = {
        HTTPStatus.UNAUTHORIZED: f"{own}admin/login/?{urlencode({'next': request.get_full_path()})}",
        HTTPStatus.FORBIDDEN: f"{own}administration",  # the caller may be an admin with a session of the guard page
    }
    errors = {
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE: _("At most %(size)s MiB can be sent to this page.")
        % {"size": largest_body_at(request) // 1024**2},
        HTTPStatus.SERVICE_UNAVAILABLE: _("Please try again in a moment."),
    }
    words = {
        "title": _(_TITLES[status]),
        "error": errors.get(status, ""),
        "guard": own,
        "sign_in": sign_in.get(status, ""),
    }
    page = render(request, "portal/message.html", words, status=status)
    page["Content-Security-Policy"] = content_security_policy()
    for name in _KEPT_HEADERS:
        if name in problem.headers:
            page[name] = problem.headers[name]
    return page
