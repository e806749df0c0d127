"""Django admin pages of rows that are deleted one at a time, after a fresh sign-in."""

from typing import Any

from django import forms
from django.http import HttpRequest

from gatewall.api.admin_forms import CREDENTIALS, LONGEST_CODE, ProofFields
from gatewall.api.fresh_sign_in import is_fresh, require_fresh_sign_in
from gatewall.api.service_admin import ServiceAdmin
from gatewall.kernel.refusals import Refusal


class ProofForm(ProofFields, forms.Form):
    """The password or code of a caller whose sign-in is not fresh."""


class FreshDeletionAdmin(ServiceAdmin):
    """Page of rows that protect an account: the confirmation asks for password or code unless the sign-in is fresh."""

    delete_confirmation_template = "admin/fresh_delete_confirmation.html"

    def get_actions(self, request: HttpRequest) -> Any:
        """Return the actions without the deletion of several rows, whose page has no re-authentication."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        if request.method == "POST":
            password, code = (request.POST.get(name) or None for name in CREDENTIALS)
            try:
                require_fresh_sign_in(request, password=password, code=code[:LONGEST_CODE] if code else None)
            except Refusal as refusal:
                return self.redirect_refused(request, refusal, "delete", object_id)
        proof = None if is_fresh(request) else ProofForm()
        return super().delete_view(request, object_id, {**(extra_context or {}), "proof": proof})
