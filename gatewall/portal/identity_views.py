"""Forms of the account page that link and unlink accounts at identity providers."""

import uuid

from django.http import HttpRequest, HttpResponse

from accounts import browser
from accounts.identity_providers import selectors
from accounts.sign_in import oidc
from gatewall.kernel.refusals import Gone
from gatewall.portal import pages, provider_views
from gatewall.portal.account_views import AccountForm
from gatewall.portal.form_fields import number_of_form
from gatewall.portal.pages import see_other


class LinkIdentity(AccountForm):
    """Begin to link an account at a provider. Return a page with a link there: ``form-action`` forbids a redirect."""

    def send(self, request: HttpRequest) -> HttpResponse:
        self.reauthenticate(request)
        provider = selectors.enabled_provider(request.POST.get("provider", "")[:32])
        if provider is None:
            raise Gone("there is no such provider")
        begun = provider_views.begin(request, provider, return_url="", user=self.caller.user)
        page = pages.page(request, "link_identity", {"provider": provider.name, "there": begun.url})
        return begun.kept(page, request)


class UnlinkIdentity(AccountForm):
    """Unlink an account at a provider."""

    def send(self, request: HttpRequest) -> HttpResponse:
        self.reauthenticate(request)
        row = selectors.identities_of(self.caller.user).filter(pk=number_of_form(request)).first()
        if row is None:
            raise Gone("there is no such link")
        session = uuid.UUID(self.caller.token["jti"])
        oidc.unlink(row, visitor=browser.visitor(request), at=pages.now(), session=session)
        return see_other(pages.account_url(done="identity-unlinked"))
