"""The own account: password, second factor, sessions, git tokens."""

import uuid
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from accounts import browser, login, reauthentication, second_factor, selectors, services
from accounts.models import User
from gatewall.portal import pages
from gatewall.portal.pages import OwnForm, see_other
from gatewall.refusals import Gone
from licensing import selectors as licensing_selectors
from licensing import services as licensing

_TOKEN_DAYS = (30, 90, 365)


class Account(OwnForm):
    """Everything about oneself on one page."""

    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        found = pages.caller(request)
        if found is None:
            return see_other(f"{settings.ROOT_PATH}/")
        self.caller = found
        return self.overview(request)

    def overview(self, request: HttpRequest, status: int = 200, **words: object) -> HttpResponse:
        """Return the page, with a word on what was just done or refused."""
        user, at = self.caller.user, pages.now()
        context = {
            "user": user,
            "has_second_factor": selectors.has_second_factor(user),
            "sessions": selectors.live_sessions(user.pk, at),
            "current": self.caller.token["jti"],
            "git_tokens": licensing_selectors.git_tokens_of(user.pk),
            "token_days": _TOKEN_DAYS,
            "ask_password": not reauthentication.is_fresh(self.caller.signed_in_at, at),
            **words,
        }
        return pages.page(request, "account", context, status=status)

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return self.overview(request, status, error=error)


class _AccountForm(Account):
    http_method_names = ["post"]


class ChangePassword(_AccountForm):
    """Change the own password; every other session ends."""

    def send(self, request: HttpRequest) -> HttpResponse:
        user, visitor, at = self.caller.user, browser.visitor(request), pages.now()
        reauthentication.require_password(user, pages.text_of(request, "current"), visitor=visitor, at=at)
        user = services.change_user(user, password=request.POST.get("new", ""))
        return self._go_on(request, user, visitor)

    def _go_on(self, request: HttpRequest, user: User, visitor: login.Visitor) -> HttpResponse:
        amr, audiences = tuple(self.caller.token["amr"]), tuple(sorted(self.caller.token.audiences))
        token = login.start_session(user, audiences=audiences, amr=amr, visitor=visitor, at=pages.now())
        response = see_other(f"{settings.ROOT_PATH}/account")
        browser.set_session(response, request, token.text, expires_at=token.expires_at)
        return response


class SwitchOff(_AccountForm):
    """Switch the second factor off, with the password or a code."""

    def send(self, request: HttpRequest) -> HttpResponse:
        user = self.caller.user
        sent = {name: pages.text_of(request, name) for name in ("password", "code")}
        reauthentication.require_password_or_code(user, **sent, visitor=browser.visitor(request), at=pages.now())
        second_factor.switch_off(user)
        return see_other(f"{settings.ROOT_PATH}/account")


class EndSession(_AccountForm):
    """End one of the own sessions, on whichever device it is."""

    def send(self, request: HttpRequest) -> HttpResponse:
        jti = _id(request.POST.get("jti", ""))
        own = selectors.live_sessions(self.caller.user.pk, pages.now()).filter(pk=jti)
        if not own.exists():
            raise Gone("there is no such session")
        services.revoke_session(jti, at=pages.now())
        return see_other(f"{settings.ROOT_PATH}/account")


class IssueGitToken(_AccountForm):
    """Make a git token; its text is on the answer, this once."""

    def send(self, request: HttpRequest) -> HttpResponse:
        days = request.POST.get("days", "")
        expires_at = pages.now() + timedelta(days=int(days)) if days in map(str, _TOKEN_DAYS) else None
        user = self.caller.user
        _row, token = licensing.issue_git_token(
            actor=user.username, user_id=user.pk, name=request.POST.get("name", "").strip(), expires_at=expires_at
        )
        return self.overview(request, 201, new_token=token.text)


class RevokeGitToken(_AccountForm):
    """Delete one of the own git tokens."""

    def send(self, request: HttpRequest) -> HttpResponse:
        text = request.POST.get("id", "")
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
        row = licensing_selectors.git_tokens_of(self.caller.user.pk).filter(pk=number).first()
        if row is None:
            raise Gone(_("There is no such token."))
        licensing.revoke_git_token(row)
        return see_other(f"{settings.ROOT_PATH}/account")


def _id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Gone("there is no such session") from None
