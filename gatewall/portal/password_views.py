"""Pages to request a new password, and pages of one-time links: set a password, or accept an invitation.

Passkeys need JavaScript; passwords and codes do not.
"""

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from accounts import browser
from accounts.links import links, redeeming, requests
from accounts.links.links import LinkOver
from accounts.links.redeeming import Proof
from accounts.models import AccountLink, LinkPurpose, User
from accounts.sign_in import login, passkey, passkey_browser
from gatewall.engine.auth_methods import PASSWORD
from gatewall.kernel.refusals import Gone
from gatewall.portal import pages, passkey_views
from gatewall.portal.form_fields import name_of_form
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
            return _link_over_page(request, refusal)

    def send(self, request: HttpRequest) -> HttpResponse:
        link = self._link(request.POST.get("token", ""))
        user = redeeming.redeem(
            link,
            password=request.POST.get("new", ""),
            proof=_proof(request, link),
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
            return _link_over_page(request, refusal)
        return self._page(request, link, error, status)

    def finished(self, request: HttpRequest, user: User) -> HttpResponse:
        """Show a link to the sign-in page: access to a mailbox alone must not give a session."""
        words = {"title": _("Your password is changed"), "done": _("You can sign in with it now."), "is_sign_in": True}
        return pages.without_referrer(pages.page(request, "message", words))

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
            "error": error,
            **self._factors(request, link),
        }
        return pages.without_referrer(
            pages.page(request, "new_password", words, status=status, scripts_call_us=words["uses_script"])
        )

    def _factors(self, request: HttpRequest, link: AccountLink) -> dict[str, Any]:
        """Return the template fields for the proof beside the password, and the passkey instead of it."""
        needs_proof, action = redeeming.needs_proof(link.user), links.PATHS[self.purpose]
        urls = {"begin": f"{action}/passkey/begin", "action": action}
        asked = passkey_views.proof_fields(request, link.user if needs_proof else None, **urls)
        is_open = self.purpose is LinkPurpose.INVITATION and not needs_proof
        offers = is_open and passkey_browser.party_of(request) is not None
        return {
            **asked,
            "needs_proof": needs_proof,
            "offers_passkey": offers,
            "uses_script": offers or asked["has_passkey"],
            "passkey_name": request.POST.get("name", "")[:100],
        }


class Invitation(SetPassword):
    """Accept an invitation: choose a password, and a name if it allows that."""

    purpose = LinkPurpose.INVITATION

    def finished(self, request: HttpRequest, user: User) -> HttpResponse:
        """Sign the new user in; a user with a second factor must sign in with it."""
        if redeeming.needs_proof(user):
            return super().finished(request, user)
        proof = login.Proven(user, (PASSWORD,))
        result = login.open_session(proof, flow=login.GUARD, visitor=browser.visitor(request), at=pages.now())
        return pages.without_referrer(pages.enter(request, result.token, None))


class AcceptWithPasskey(Invitation):
    """Accept an invitation with the passkey that the browser created, without a password."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return Form.get(self, request)

    def send(self, request: HttpRequest) -> HttpResponse:
        link, visitor, at = self._link(request.POST.get("token", "")), browser.visitor(request), pages.now()
        accepted = redeeming.accept_with_passkey(
            link,
            passkey_views.answer_of(request),
            name=name_of_form(request),
            username=request.POST.get("username", ""),
            page=passkey_browser.page_of(request),
            visitor=visitor,
            at=at,
        )
        proof = login.Proven(accepted.user, passkey.amr_of(accepted.registered.passkey))
        token = login.open_session(proof, flow=login.GUARD, visitor=visitor, at=at).token
        words = {"codes": accepted.registered.recovery_codes, "username": accepted.user.username}
        response = pages.without_referrer(pages.page(request, "recovery_codes", words))
        browser.set_session(response, request, token.text, expires_at=token.expires_at)
        browser.remember(response, request, token.user_id)
        return response


class BeginPasskey(Form):
    """Begin to prove a passkey of the link's user, or to create one to accept an invitation, for the script."""

    http_method_names = ["post"]
    purpose = LinkPurpose.PASSWORD_RESET

    def send(self, request: HttpRequest) -> HttpResponse:
        link, at = links.find(request.POST.get("token", ""), self.purpose, at=pages.now()), pages.now()
        page = passkey_browser.new_page(request)
        if redeeming.needs_proof(link.user):
            return passkey_views.options_response(request, page, redeeming.begin_proof(link, page, at=at))
        if self.purpose is not LinkPurpose.INVITATION:
            raise Gone("the user has no passkey")
        username = request.POST.get("username", "")
        options = redeeming.begin_passkey(link, page, username=username, at=at)
        return passkey_views.options_response(request, page, options)

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return passkey_views.told(error, status)


def _proof(request: HttpRequest, link: AccountLink) -> Proof:
    """Return the proof in the form: the answer of a passkey, or a code."""
    visitor, at = browser.visitor(request), pages.now()
    if not request.POST.get("credential"):
        return redeeming.proof_by_code(link, request.POST.get("code", ""), visitor=visitor, at=at)
    page, answer = passkey_browser.page_of(request), passkey_views.answer_of(request)
    return redeeming.proof_by_passkey(link, answer, page, visitor=visitor, at=at)


def _link_over_page(request: HttpRequest, refusal: LinkOver) -> HttpResponse:
    words = {"title": _("This link does not work"), "error": refusal_text(refusal), "may_ask": requests.has_mail()}
    return pages.without_referrer(pages.page(request, "message", words, status=HTTPStatus.GONE))
