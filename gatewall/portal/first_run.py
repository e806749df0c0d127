"""Create the first administrator, through a one-time link printed to the log when the control plane starts.

Without the link's secret the page returns 404, so a stranger cannot claim a fresh installation.
"""

import logging
import secrets
import time
from pathlib import Path

from django.conf import settings
from django.db import Error
from django.http import Http404, HttpRequest, HttpResponse

from accounts import selectors, services
from gatewall.api.translation import translated
from gatewall.kernel.file_io import locked, replace_file
from gatewall.portal import pages
from gatewall.portal.pages import Form, see_other
from gatewall.snapshot.host_paths import run_folder
from policies import cookie_reach

logger = logging.getLogger(__name__)
LIFETIME_SECONDS = 3600
_LENGTH = 43  # of 32 random bytes in base64url


def announce() -> None:
    """Log the link if there is no administrator yet. Does nothing if the database cannot be read."""
    try:
        if selectors.has_admin():
            return
    except Error:
        return
    origin = settings.GATEWALL_PUBLIC_URL or f"http://{settings.GATEWALL_BIND}:{settings.GATEWALL_PORT}"
    link = f"{origin}{settings.ROOT_PATH}/setup?token={_secret_for_all_processes()}"
    logger.warning("no administrator exists yet: create the first one within an hour at %s", link)


class FirstAdmin(Form):
    """Create the first administrator, once, with the secret of the link."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return _page(request, _require_token(request.GET.get("token", "")))

    def send(self, request: HttpRequest) -> HttpResponse:
        _require_token(request.POST.get("token", ""))
        username, password = request.POST.get("username", ""), request.POST.get("password", "")
        services.create_first_admin(username=username, password=password)
        _file().unlink(missing_ok=True)
        return see_other(pages.guard_url())

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return _page(request, _require_token(request.POST.get("token", "")), error, status)


def _page(request: HttpRequest, token: str, error: str = "", status: int = 200) -> HttpResponse:
    words = {"token": token, "username": request.POST.get("username", "admin")[:64], "error": error}
    words["reach"] = translated(cookie_reach.in_words())
    return pages.page(request, "first_admin", words, status=status)


def _require_token(token: str) -> str:
    """Return the token if it is the secret of the link and still needed. Raises Http404."""
    secret = _live_secret()
    if secret is None or not secrets.compare_digest(token.encode("utf-8", "replace"), secret.encode()):
        raise Http404
    if selectors.has_admin():
        raise Http404
    return token


def _file() -> Path:
    return run_folder(settings.GATEWALL_HOME) / "setup-token"


def _live_secret() -> str | None:
    """Return the secret while the link is valid; None for a damaged file, as an empty secret would match."""
    try:
        text, made_at = _file().read_text("ascii").strip(), _file().stat().st_mtime
    except (OSError, UnicodeDecodeError):
        return None
    return text if len(text) == _LENGTH and time.time() - made_at < LIFETIME_SECONDS else None


def _secret_for_all_processes() -> str:
    """Return the secret of this host, created by the first of several processes."""
    path = _file()
    with locked(path.with_suffix(".lock")):
        secret = _live_secret()
        if secret is None:
            secret = secrets.token_urlsafe(32)
            replace_file(path, secret.encode(), synced=False)
    return secret
