"""Sign-in to the Django admin by the same service as on all pages, with the second factor on the same page."""

from typing import Any

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import UsernameField
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import admin_session, browser
from accounts.sign_in import login
from accounts.sign_in.challenges import Challenged
from gatewall.api.request_notes import REFUSAL, RequestNote
from gatewall.api.translation import translated
from gatewall.kernel.refusals import Refusal

PROOF = RequestNote[login.Proven]("proof")
"""The user authenticated in this request."""


class AdminLoginForm(AdminAuthenticationForm):
    """Username, password and, for users with a second factor, a code."""

    request: HttpRequest  # Django's login view always gives one

    username = UsernameField(label=_("User name"), widget=forms.TextInput(attrs={"autofocus": True}))
    code = forms.CharField(
        label=_("Code"),
        required=False,
        max_length=64,
        help_text=_("From your authenticator app, or a recovery code, if you use a second factor."),
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code"}),
    )

    def clean(self) -> dict[str, Any]:
        if self.errors:
            return self.cleaned_data  # do not authenticate with an incomplete form
        try:
            self.proof = self._proven()
        except Refusal as refusal:
            REFUSAL.set(self.request, refusal)
            raise forms.ValidationError(translated(refusal.message), code=refusal.code) from None
        self.user_cache = self.proof.user
        PROOF.set(self.request, self.proof)
        admin_session.end(self.request, at=timezone.now())  # also that of another admin, which Django's login() forgets
        return self.cleaned_data

    def _proven(self) -> login.Proven:
        data = {name: self.cleaned_data.get(name) or "" for name in ("username", "password", "code")}
        visitor, now = browser.visitor(self.request), timezone.now()
        proof = login.prove_password(data["username"], data["password"], flow=login.ADMIN_SITE, visitor=visitor, at=now)
        if isinstance(proof, Challenged):
            if not data["code"]:  # ask for the code without counting a failure
                raise forms.ValidationError({"code": self.fields["code"].error_messages["required"]}, "required")
            proof = login.prove_code(proof.token, data["code"], flow=login.ADMIN_SITE, visitor=visitor, at=now)
        return proof
