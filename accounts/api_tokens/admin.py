"""Django admin page of API tokens. A token is shown once; its digest never."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.api_tokens import services
from accounts.api_tokens.serializers import MAX_NETWORKS
from accounts.authentication import signed_in_user
from accounts.models import ApiToken
from gatewall.api.admin_forms import FreshForm
from gatewall.api.scopes import Scope
from gatewall.api.service_admin import ShownOnceAdmin, actor
from policies.validators import canonical_network

_METADATA = ("prefix", "created_at", "created_by", "last_used_at")
_SCOPES = [(scope.value, scope.value) for scope in Scope]


class NetworksField(forms.CharField):
    """Networks, one on each line."""

    def clean(self, value: Any) -> list[str]:
        lines = super().clean(value).split()
        if len(lines) > MAX_NETWORKS:
            raise ValidationError(gettext("at most %(number)s networks") % {"number": MAX_NETWORKS})
        return [canonical_network(line) for line in lines]


class ApiTokenForm(FreshForm):
    """Form of an API token."""

    scopes = forms.MultipleChoiceField(
        choices=_SCOPES,
        widget=forms.CheckboxSelectMultiple(attrs={"class": "pick"}),
        help_text="What programs may do with the token. Choose the fewest that the program needs.",
    )
    networks = NetworksField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 40}),
        help_text="Addresses or networks that the token may be used from, one on each line. Empty: from anywhere.",
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "expires_at" in self.fields:
            field = self.fields["expires_at"]
            field.required = False
            words = gettext("At most %(longest)s days from now. Without a time the token expires in %(usual)s days.")
            field.help_text = words % {"longest": services.LONGEST_LIFE.days, "usual": services.USUAL_LIFE.days}


@admin.register(ApiToken)
class ApiTokenAdmin(ShownOnceAdmin):
    form = ApiTokenForm
    list_display = ("name", "user", "prefix", "scopes", "expires_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("name", "prefix", "user__username")
    readonly_fields = _METADATA
    fields = ("name", "scopes", "networks", "expires_at", *readonly_fields)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # as in the API: tokens are only created and revoked

    def create_row(self, request: HttpRequest, **values: Any) -> ApiToken:
        row, token = services.issue(maker=signed_in_user(request), **values)
        self.keep_for_response(request, token.text)
        return row

    def use_lines(self, row: ApiToken, secret: str) -> list[tuple[str | Promise, str]]:
        home = f"{settings.GATEWALL_PUBLIC_URL or 'https://wall.example.com'}{settings.ROOT_PATH}"
        return [
            (_("With curl"), f'curl -H "Service-Authorization: {secret}" {home}/authorized-domains'),
            (_("With gatewall policy"), f"GATEWALL_API_TOKEN={secret} gatewall policy export --url {home}"),
        ]

    def delete_row(self, request: HttpRequest, row: ApiToken) -> None:
        services.revoke(row, actor=actor(request))
