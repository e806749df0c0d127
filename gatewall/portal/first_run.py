"""The first administrator of an installation that has none: made by whoever can read its log.

A one-time link is printed when the control plane starts. Without its secret the page does not exist,
so the first visitor of a fresh installation becomes nobody.
"""

import logging
import os
import secrets
from pathlib import Path

from django.conf import settings
from django.db import Error
from django.http import Http404, HttpRequest, HttpResponse

from accounts import selectors, services
from gatewall.portal import pages
from gatewall.portal.pages import Form, see_other
from gatewall.snapshot.places import run_folder

logger = logging.getLogger(__name__)


def announce() -> None:
    """Print the link if there is no administrator yet. A database that cannot be read prints nothing."""
    try:
        if selectors.has_admin():
            return
    except Error:
        return
    origin = settings.GATEWALL_PUBLIC_URL or f"http://{settings.GATEWALL_BIND}:{settings.GATEWALL_PORT}"
    link = f"{origin}{settings.ROOT_PATH}/setup?token={_secret_made_once()}"
    logger.warning("there is no administrator yet; make the first at %s", link)


class FirstAdmin(Form):
    """Name the first administrator, once, with the secret of the log."""

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest) -> HttpResponse:
        return _page(request, _believed(request.GET.get("token", "")))

    def send(self, request: HttpRequest) -> HttpResponse:
        _believed(request.POST.get("token", ""))
        username, password = request.POST.get("username", ""), request.POST.get("password", "")
        services.create_first_admin(username=username, password=password)
        _file().unlink(missing_ok=True)
        return see_other(f"{settings.ROOT_PATH}/")

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return _page(request, _believed(request.POST.get("token", "")), error, status)


def _page(request: HttpRequest, token: str, error: str = "", status: int = 200) -> HttpResponse:
    words = {"token": token, "username": request.POST.get("username", "admin")[:64], "error": error}
    return pages.page(request, "first_admin", words, status=status)


def _believed(token: str) -> str:
    """Return the token if it is the secret of the link and still needed. Raises Http404."""
    try:
        secret = _file().read_text().strip()
    except OSError:
        raise Http404 from None
    right = secrets.compare_digest(token.encode("utf-8", "replace"), secret.encode())
    if not right or selectors.has_admin():
        raise Http404
    return token


def _file() -> Path:
    return run_folder(settings.GATEWALL_HOME) / "setup-token"


def _secret_made_once() -> str:
    """Return the secret of this installation; of several processes, the first makes it."""
    path = _file()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(descriptor, "w") as file:
        secret = secrets.token_urlsafe(32)
        file.write(secret)
    return secret
