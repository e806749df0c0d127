"""Passkeys on visitor pages: sign in, second factor, step-up, and the passkeys of the own account."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse

from accounts import browser, services
from accounts.models import Passkey, User
from accounts.passkeys import services as passkeys
from accounts.sign_in import login, methods, passkey, passkey_browser
from accounts.sign_in.passkey_values import MAX_LENGTH
from gatewall.kernel.refusals import Gone
from gatewall.portal import pages
from gatewall.portal.form_fields import number_of_form
from gatewall.portal.pages import Caller, Form, OwnForm


class Begin(Form):
    """Begin a sign-in with a passkey, or the second factor of a challenge, for the script of our pages."""

    http_method_names = ["post"]

    def send(self, request: HttpRequest) -> HttpResponse:
        page = passkey_browser.new_page(request)
        token = request.POST.get("challenge", "")
        return options_response(request, page, login.begin_passkey(token, page, flow=login.GUARD, at=pages.now()))

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return told(error, status)


class BeginStepUp(OwnForm):
    """Begin to prove a passkey in a session, for the script of our pages."""

    http_method_names = ["post"]

    def send(self, request: HttpRequest) -> HttpResponse:
        page, user = passkey_browser.new_page(request), self.caller.user
        return options_response(request, page, passkey.begin(page, purpose_of(self.caller), user=user, at=pages.now()))

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return told(error, status)


class BeginRegistration(OwnForm):
    """Begin to add a passkey, after a fresh sign-in, the password or a code, for the script of our pages."""

    http_method_names = ["post"]

    def send(self, request: HttpRequest) -> HttpResponse:
        self.reauthenticate(request)
        page, user = passkey_browser.new_page(request), self.caller.user
        return options_response(request, page, passkeys.begin(user, page, self.caller.token["jti"], at=pages.now()))

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return told(error, status)


def prove(request: HttpRequest, caller: Caller, *, flow: str) -> tuple[str, ...]:
    """Verify the passkey in the form, in the visitor's session; return the methods proved. Raises a Refusal."""
    page, visitor = passkey_browser.page_of(request), browser.visitor(request)
    _user, amr = passkey.prove(
        answer_of(request), page, purpose_of(caller), user=caller.user, flow=flow, visitor=visitor, at=pages.now()
    )
    return amr


def register(request: HttpRequest, caller: Caller, name: str) -> tuple[passkeys.Registered, HttpResponse]:
    """Register the passkey in the form; return it with a response that sets the cookie of the new session.

    The new session has proved the passkey. If it is the first second factor, other sessions end. Raises a Refusal.
    """
    user, at = caller.user, pages.now()
    page, visitor = passkey_browser.page_of(request), browser.visitor(request)
    made = passkeys.register(
        user, answer_of(request), name=name, page=page, session=caller.token["jti"], visitor=visitor, at=at
    )
    token = pages.replace_session(request, caller, amr=methods.union(caller.token["amr"], passkey.amr_of(made.passkey)))
    if made.recovery_codes:
        services.end_sessions_besides(user, token.jti, at=at)  # opened without the second factor
        words = {"codes": made.recovery_codes, "username": user.username}
        response = pages.page(request, "recovery_codes", words)
    else:
        response = pages.see_other(pages.account_url(done="passkey"))
    browser.set_session(response, request, token.text, expires_at=token.expires_at)
    return made, response


def own_passkey(request: HttpRequest, user: User) -> Passkey:
    """Return the passkey that the form names. Raises Gone."""
    row = Passkey.objects.select_related("user").filter(user=user, pk=number_of_form(request)).first()
    if row is None:
        raise Gone("there is no such passkey")
    return row


def answer_of(request: HttpRequest) -> object:
    """Return the answer of the authenticator in the form, None if it is not JSON."""
    text = request.POST.get("credential", "")
    try:
        return json.loads(text) if len(text) <= MAX_LENGTH else None
    except (ValueError, RecursionError):
        return None


def proof_fields(request: HttpRequest, user: User | None, *, begin: str, action: str) -> dict[str, Any]:
    """Return the template fields for the second factors that a page asks this user for; without a user, a code."""
    found = [] if user is None else methods.second_factors_of(user)
    page = passkey_browser.party_of(request)
    has_passkey = user is not None and page is not None and bool(passkey.known_passkeys(user, page))
    takes_code = user is None or any(method.codes for method in found)
    urls = {"passkey_begin": begin, "passkey_action": action}
    return {"takes_code": takes_code, "has_passkey": has_passkey, **urls}


def purpose_of(caller: Caller) -> str:
    """Return the purpose of a passkey challenge in this session."""
    return f"step-up {caller.token['jti']}"


def options_response(request: HttpRequest, page: passkey.PasskeyPage, options: dict[str, Any]) -> HttpResponse:
    """Return the response with the options of a ceremony, and bind the ceremony to the browser."""
    response = JsonResponse({"public_key": options})
    passkey_browser.bind(response, request, page)
    return response


def told(error: str, status: int) -> HttpResponse:
    """Return a refusal for the script of our pages."""
    return JsonResponse({"detail": error}, status=status)
