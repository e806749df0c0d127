"""Signing in to the Django admin: the same service as everywhere, with the second factor on the same page."""

from typing import Any

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.utils import timezone

from accounts import browser, login
from accounts.challenges import Challenged
from gatewall.refusals import Refusal


class AdminLoginForm(AdminAuthenticationForm):
    """Name, password and, from whoever has a second factor, a code."""

    code = forms.CharField(
        label="Code",
        required=False,
        max_length=64,
        help_text="of your authenticator app, or a recovery code, if you have switched the second factor on",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code"}),
    )

    def clean(self) -> dict[str, Any]:
        if self.errors:
            return self.cleaned_data  # what was not filled in is not tried
        try:
            self.proof = self._proven()
        except Refusal as refusal:
            self.request.refusal = refusal
            raise forms.ValidationError(str(refusal), code=refusal.code) from None
        self.user_cache = self.proof.user
        self.request.proof = self.proof
        return self.cleaned_data

    def _proven(self) -> login.Proven:
        data = {name: self.cleaned_data.get(name) or "" for name in ("username", "password", "code")}
        visitor, now = browser.visitor(self.request), timezone.now()
        proof = login.prove_password(data["username"], data["password"], flow=login.ADMIN_SITE, visitor=visitor, at=now)
        if isinstance(proof, Challenged):
            proof = login.prove_code(proof.token, data["code"], flow=login.ADMIN_SITE, visitor=visitor, at=now)
        return proof
