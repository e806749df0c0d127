"""API: API tokens."""

from typing import Any

from django.db.models import QuerySet

from accounts.api_tokens import services
from accounts.api_tokens.serializers import ApiTokenFilters, ApiTokenInput, ApiTokenOutput
from accounts.authentication import signed_in_user
from accounts.models import ApiToken
from gatewall.api.resources import Resource
from gatewall.api.scopes import SESSION_ONLY
from gatewall.api.serializers import ShownOnce
from gatewall.credentials.machine import MachineToken


class ApiTokens(Resource):
    """API tokens: credentials of programs for this API. The token is shown once, at creation."""

    nouns = ("an API token", "API tokens")
    area = SESSION_ONLY
    input, output = ApiTokenInput, ApiTokenOutput
    output_on_create = ShownOnce
    volatile = ("last_used_at",)
    filterset_class = ApiTokenFilters
    ordering_fields = ("id", "created_at", "name", "expires_at", "last_used_at")
    search_fields = ("name", "prefix", "created_by")
    http_method_names = ["get", "head", "options", "post", "delete"]
    _token: MachineToken

    def get_queryset(self) -> QuerySet[ApiToken]:
        return ApiToken.objects.all()

    def create_row(self, **values: Any) -> ApiToken:
        row, self._token = services.issue(maker=signed_in_user(self.request), **values)
        return row

    def created(self, row: Any) -> dict[str, Any]:
        return {**super().created(row), "token": self._token.text}

    def delete_row(self, row: ApiToken) -> None:
        services.revoke(row, actor=self.actor)
