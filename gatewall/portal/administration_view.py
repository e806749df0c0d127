"""Open the administration from the guard page: a session of the Django admin, after re-authentication."""

from http import HTTPStatus

from django.contrib.auth import login as django_login
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from accounts import admin_session, browser, selectors
from accounts.sign_in import login, reauthentication
from accounts.sign_in.methods import union
from gatewall.engine.auth_methods import PASSWORD
from gatewall.portal import pages, passkey_views
from gatewall.portal.pages import OwnForm, see_other
from policies import selectors as policy_selectors


class Administration(OwnForm):
    """Start an admin session for a signed-in admin who enters their code or, without a second factor, the password.

    A fresh sign-in is not enough: the guard page may have the origin of a protected site, whose scripts could send
    the form, but know neither code nor password.
    """

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest) -> HttpResponse:
        found = pages.caller(request)
        if found is None or not found.user.may_audit:
            return see_other(pages.guard_url())
        self.caller = found
        return self.again(request, "", HTTPStatus.OK)

    def send(self, request: HttpRequest) -> HttpResponse:
        user, at, visitor = self.caller.user, pages.now(), browser.visitor(request)
        if not user.may_audit:
            raise login.AdminRequired("only admins and auditors may sign in here")
        proof = login.Proven(user, self._methods(request))
        with transaction.atomic():
            admin_session.end(request, at=at)  # also another admin's, which Django's login() would not end
            django_login(request, user)
            admin_session.begin(request.session, user, amr=proof.amr, visitor=visitor, at=at)
            login.record_success(proof, flow=login.ADMIN_SITE, visitor=visitor, at=at)
        return see_other(reverse("admin:index" if policy_selectors.has_site() else "console:first-site"))

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        user = self.caller.user
        if not user.may_audit:
            return super().again(request, error, status)
        words = {
            "error": error,
            "username": user.username,
            "ask_code": selectors.has_second_factor(user),
            "shared_with": pages.site_of_origin(request),
        }
        asked = passkey_views.proof_fields(request, user, begin="step-up/passkey/begin", action="administration")
        options = {"status": status, "scripts_call_us": asked["has_passkey"]}
        return pages.page(request, "administration", {**asked, **words}, **options)

    def _methods(self, request: HttpRequest) -> tuple[str, ...]:
        """Return the methods that the visitor authenticated with. Raises a Refusal."""
        user, at, visitor = self.caller.user, pages.now(), browser.visitor(request)
        if not selectors.has_second_factor(user):
            reauthentication.require_password(user, request.POST.get("password", ""), visitor=visitor, at=at)
            return (PASSWORD,)
        if "credential" in request.POST:
            proved = passkey_views.prove(request, self.caller, flow=login.ADMIN_SITE.name)
            return union(self.caller.token["amr"], proved)
        proved = reauthentication.prove_code(user, request.POST.get("code", ""), visitor=visitor, at=at)
        if not proved:
            raise login.InvalidCode("the code is wrong, or was used already")
        return union(self.caller.token["amr"], proved)
