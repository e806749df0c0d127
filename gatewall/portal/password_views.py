"""Pages to ask for a new password, and to set one through a one-time link. No JavaScript."""

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from accounts import browser
from accounts.links import links, redeeming, requests
from accounts.links.links import LinkOver
from accounts.models import AccountLink, LinkPurpose, User
from accounts.sign_in import login
from gatewall.engine.auth_methods import PASSWORD
from gatewall.portal import pages
from gatewall.portal.pages import Form
from gatewall.portal.refusal_texts import refusal_text

_LONGEST_NAME = 254


class Forgot(Form):
    """Ask for a link to set a new password; the response is the same for every account."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._page(request)

    def send(self, request: HttpRequest) -> HttpResponse:
        account = request.POST.get("account", "")[:_LONGEST_NAME]
        requests.ask_reset(account, visitor=browser.visitor(request), at=pages.now())
        return self._page(request, is_sent=True)

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return self._page(request, error=error, status=status)

    def _page(self, request: HttpRequest, *, status: int = 200, **words: Any) -> HttpResponse:
        return pages.page(request, "forgot", {"has_mail": requests.has_mail(), **words}, status=status)


class SetPassword(Form):
    """Set a password with the token of a link. Opening the link does not use it up: mail scanners open links."""

    purpose = LinkPurpose.PASSWORD_RESET

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            return self._page(request, self._link(request.GET.get("token", "")))
        except LinkOver as refusal:
            return _over(request, refusal)

    def send(self, request: HttpRequest) -> HttpResponse:
        link = self._link(request.POST.get("token", ""))
        user = redeeming.redeem(
            link,
            password=request.POST.get("new", ""),
            code=request.POST.get("code", ""),
            username=request.POST.get("username", ""),
            revoke_tokens=request.POST.get("revoke_tokens") == "on",
            visitor=browser.visitor(request),
            at=pages.now(),
        )
        return self.finished(request, user)

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        try:
            link = self._link(request.POST.get("token", ""))
        except LinkOver as refusal:
            return _over(request, refusal)
        return self._page(request, link, error, status)

    def finished(self, request: HttpRequest, user: User) -> HttpResponse:
        """Lead to the sign-in: whoever has a mailbox alone does not get a session."""
        words = {"title": _("Your password is changed"), "done": _("You can sign in with it now."), "is_sign_in": True}
        return _private(pages.page(request, "message", words))

    def _link(self, token: str) -> AccountLink:
        return links.find(token, self.purpose, at=pages.now())

    def _page(self, request: HttpRequest, link: AccountLink, error: str = "", status: int = 200) -> HttpResponse:
        is_post = request.method == "POST"
        words = {
            "token": (request.POST if is_post else request.GET).get("token", ""),
            "action": links.PATHS[self.purpose],
            "is_invitation": self.purpose is LinkPurpose.INVITATION,
            "may_rename": link.may_rename,
            "username": request.POST.get("username", link.user.username)[:64],
            "needs_code": redeeming.needs_code(link.user),
            "error": error,
        }
        return _private(pages.page(request, "new_password", words, status=status))


class Invitation(SetPassword):
    """Accept an invitation: choose a password, and a name if it allows that."""

    purpose = LinkPurpose.INVITATION

    def finished(self, request: HttpRequest, user: User) -> HttpResponse:
        """Sign the new user in; one with a second factor signs in with it."""
        if redeeming.needs_code(user):
            return super().finished(request, user)
        proof = login.Proven(user, (PASSWORD,))
        result = login.open_session(proof, flow=login.GUARD, visitor=browser.visitor(request), at=pages.now())
        return _private(pages.enter(request, result.token, None))


def _over(request: HttpRequest, refusal: LinkOver) -> HttpResponse:
    words = {"title": _("This link does not work"), "error": refusal_text(refusal), "may_ask": requests.has_mail()}
    return _private(pages.page(request, "message", words, status=HTTPStatus.GONE))


def _private(response: HttpResponse) -> HttpResponse:
    """Keep the address of the page, which has the token, out of ``Referer``; forms still send ``Origin``."""
    response["Referrer-Policy"] = "strict-origin"
    return response
