"""Pages of the visitor's own account: password, second factor, sessions."""

import uuid

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from accounts import browser, selectors, services
from accounts.identity_providers import selectors as identity_providers
from accounts.models import TotpDevice, User
from accounts.passkeys import services as passkeys
from accounts.remembered_devices import selectors as remembered
from accounts.remembered_devices import services as remembered_devices
from accounts.sign_in import passkey_browser, reauthentication, second_factor
from accounts.token_removal import kinds_to_revoke
from accounts.totp_devices import services as totp_devices
from gatewall.engine.devices import name_of
from gatewall.kernel.refusals import Gone
from gatewall.portal import pages, passkey_views, probe_cookies, token_lists
from gatewall.portal.form_fields import name_of_form, number_of_form
from gatewall.portal.pages import Caller, OwnForm, see_other

_ROWS, _PASSKEYS = 5, 3  # per page
_DONE = {
    "password": _("Your password is changed. Your other devices are signed out."),
    "second-factor-off": _("The second factor is off."),
    "app": _("The app is added."),
    "app-renamed": _("The app has a new name."),
    "app-removed": _("The app is removed. Delete the account in the app as well."),
    "session": _("That session is ended."),
    "device-forgotten": _("That browser asks for the second factor again."),
    "git-token": _("The git token is deleted."),
    "api-token": _("The API token is deleted."),
    "app-token": _("The app token is deleted."),
    "identity-linked": _("Linked. You can sign in with it from now on."),
    "identity-unlinked": _("Unlinked."),
    "passkey": _("The passkey is added."),
    "passkey-renamed": _("The passkey has a new name."),
    "passkey-removed": _("The passkey is removed. Delete it on the device as well."),
}


class AccountForm(OwnForm):
    """Base of the account forms: shows refusals on the account page."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return see_other(pages.account_url())

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return overview(request, self.caller, status, error=error)


class Account(AccountForm):
    """Account page."""

    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        found = pages.caller(request)
        if found is None:
            return see_other(pages.guard_url())
        return overview(request, found, done=_DONE.get(request.GET.get("done", ""), ""))


class ChangePassword(AccountForm):
    """Change the visitor's password and end their other sessions."""

    def send(self, request: HttpRequest) -> HttpResponse:
        user, visitor, at = self.caller.user, browser.visitor(request), pages.now()
        proof = {"password": pages.text_of(request, "current"), "code": pages.text_of(request, "code")}
        reauthentication.require_own_password(user, self.caller.sign_in, **proof, visitor=visitor, at=at)
        revoked = kinds_to_revoke({name: value == "on" for name, value in request.POST.items()})
        new = request.POST.get("new", "")
        user = services.change_user(
            user, actor=user.username, password=new, revoke_tokens=revoked, client_ip=visitor.client_ip
        )
        caller = Caller(user, self.caller.token)
        token = pages.replace_session(request, caller, amr=tuple(caller.token["amr"]))
        response = see_other(pages.account_url(done="password"))
        browser.set_session(response, request, token.text, expires_at=token.expires_at)
        return response


class SwitchOff(AccountForm):
    """Disable the second factor, after a fresh sign-in with it or with a code."""

    def send(self, request: HttpRequest) -> HttpResponse:
        user = self.caller.user
        self.reauthenticate(request)
        second_factor.switch_off_app(user, actor=user.username, client_ip=browser.visitor(request).client_ip)
        return see_other(pages.account_url(done="second-factor-off"))


class RenameApp(AccountForm):
    """Change the name of one of the visitor's authenticator apps."""

    def send(self, request: HttpRequest) -> HttpResponse:
        totp_devices.rename(_own_app(request, self.caller.user), name_of_form(request))
        return see_other(pages.account_url(done="app-renamed"))


class RemoveApp(AccountForm):
    """Remove one of the visitor's authenticator apps, after a fresh sign-in or with a code."""

    def send(self, request: HttpRequest) -> HttpResponse:
        self.reauthenticate(request)
        user, visitor = self.caller.user, browser.visitor(request)
        totp_devices.remove(_own_app(request, user), actor=user.username, client_ip=visitor.client_ip)
        return see_other(pages.account_url(done="app-removed"))


class AddPasskey(AccountForm):
    """Add the passkey that the browser created."""

    def send(self, request: HttpRequest) -> HttpResponse:
        _made, response = passkey_views.register(request, self.caller, name_of_form(request))
        return response


class RenamePasskey(AccountForm):
    """Change the name of one of the visitor's passkeys."""

    def send(self, request: HttpRequest) -> HttpResponse:
        passkeys.rename(passkey_views.own_passkey(request, self.caller.user), name_of_form(request))
        return see_other(pages.account_url(done="passkey-renamed"))


class RemovePasskey(AccountForm):
    """Remove one of the visitor's passkeys, after a fresh sign-in or with a code."""

    def send(self, request: HttpRequest) -> HttpResponse:
        user, visitor = self.caller.user, browser.visitor(request)
        self.reauthenticate(request)
        row = passkey_views.own_passkey(request, user)
        passkeys.remove(row, actor=user.username, client_ip=visitor.client_ip)
        return see_other(pages.account_url(done="passkey-removed"))


class EndSession(AccountForm):
    """End one of the visitor's sessions."""

    def send(self, request: HttpRequest) -> HttpResponse:
        jti = _session_id(request.POST.get("jti", ""))
        if not selectors.live_sessions(self.caller.user.pk, pages.now()).filter(pk=jti).exists():
            raise Gone("there is no such session")
        services.revoke_session(jti, at=pages.now())
        return see_other(pages.account_url(done="session"))


class EndAllSessions(AccountForm):
    """End all of the visitor's sessions, including this one."""

    def send(self, request: HttpRequest) -> HttpResponse:
        services.end_all_sessions(self.caller.user, actor=self.caller.user.username)
        response = see_other(pages.guard_url())
        browser.clear_session(response, request)
        probe_cookies.forget_sent(response)
        return response


class ForgetDevice(AccountForm):
    """Forget one of the visitor's remembered browsers."""

    def send(self, request: HttpRequest) -> HttpResponse:
        user, visitor = self.caller.user, browser.visitor(request)
        row = remembered.live_devices(user.pk, pages.now()).filter(pk=number_of_form(request)).first()
        if row is None:
            raise Gone("there is no such browser")
        remembered_devices.forget(row, actor=user.username, client_ip=visitor.client_ip)
        return see_other(pages.account_url(done="device-forgotten"))


def overview(request: HttpRequest, caller: Caller, status: int = 200, **words: object) -> HttpResponse:
    """Return the account page, with a message about the last action."""
    user, at, party = caller.user, pages.now(), passkey_browser.party_of(request)
    sessions = selectors.live_sessions(user.pk, at).order_by("-issued_at", "jti")
    known = Paginator(remembered.live_devices(user.pk, at).order_by("-pk"), _PASSKEYS).get_page(
        request.GET.get("remembered")
    )
    session_page = Paginator(sessions, _ROWS).get_page(request.GET.get("sessions"))
    context = {
        "user": user,
        "authenticators": Paginator(selectors.totp_devices_of(user.pk), _PASSKEYS).get_page(
            request.GET.get("authenticators")
        ),
        "passkeys": Paginator(selectors.passkeys_of(user.pk), _PASSKEYS).get_page(request.GET.get("passkeys")),
        "passkey_domain": party.id if party else "",
        "sessions": session_page,
        "devices": [(row, name_of(row.user_agent), str(row.pk) == caller.token["jti"]) for row in session_page],
        "remembered": known,
        "remembered_devices": [(row, name_of(row.user_agent)) for row in known],
        **token_lists.lists_of(request, user),
        **_identities(user),
        "has_password": user.has_usable_password(),
        "ask": caller.asked_for,
        **passkey_views.proof_fields(request, user, begin="step-up/passkey/begin", action="step-up/passkey"),
        "account": f"{browser.origin(request)}{pages.account_url()}",
        **words,
    }
    return pages.page(request, "account", context, status=status, scripts_call_us=party is not None)


def _own_app(request: HttpRequest, user: User) -> TotpDevice:
    """Return the visitor's app that the form names. Raises Gone."""
    row = selectors.totp_devices_of(user.pk).filter(pk=number_of_form(request)).first()
    if row is None:
        raise Gone("there is no such app")
    return row


def _identities(user: User) -> dict[str, object]:
    """Return the user's accounts at providers, and the enabled providers without one."""
    linked = list(identity_providers.identities_of(user))
    known = {identity.provider_id for identity in linked}
    enabled = identity_providers.enabled_providers()
    return {"identities": linked, "linkable": [provider for provider in enabled if provider.pk not in known]}


def _session_id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Gone("there is no such session") from None
