"""API: identity providers."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from accounts.identity_providers import selectors, services, validators
from accounts.identity_providers.serializers import (
    IdentityProviderFilters,
    IdentityProviderInput,
    IdentityProviderOutput,
)
from accounts.provider_models import IdentityProvider
from gatewall.api.fresh_sign_in import require_fresh_sign_in
from gatewall.api.resources import Resource
from gatewall.api.scopes import USERS, ScopedAccess, SessionRequired

_MAKES_ADMINS = "an API token may not set up a provider that makes administrators: sign in"


class IdentityProviders(Resource):
    """OpenID Connect providers that users may sign in at. The client secret is write-only."""

    nouns = ("an identity provider", "identity providers")
    area = USERS
    input, output = IdentityProviderInput, IdentityProviderOutput
    filterset_class = IdentityProviderFilters
    ordering_fields = ("id", "created_at", "slug", "name")
    search_fields = ("slug", "name", "issuer")

    def get_queryset(self) -> QuerySet[IdentityProvider]:
        return IdentityProvider.objects.all()

    def create_row(self, **values: Any) -> IdentityProvider:
        return services.create_provider(actor=self.actor, **self._allowed(values))

    def change_row(self, row: IdentityProvider, **values: Any) -> IdentityProvider:
        return services.change_provider(row, actor=self.actor, **self._allowed(values, row))

    def delete_row(self, row: IdentityProvider) -> None:
        self._refuse_token_of_lesser_rights(row)
        services.delete_provider(row, actor=self.actor)

    def _allowed(self, values: Mapping[str, Any], row: IdentityProvider | None = None) -> dict[str, Any]:
        """Return the columns to write, after re-authentication: whoever controls a provider can sign in as its users.

        Raises a Refusal, SessionRequired.
        """
        columns = dict(values)
        password, code = columns.pop("current_password", None), columns.pop("code", None)
        require_fresh_sign_in(self.request, password=password, code=code)
        if isinstance(self.request.auth, ScopedAccess) and columns.get("group_map_gives_admin"):
            raise SessionRequired(_MAKES_ADMINS)
        if row is not None:
            self._refuse_token_of_lesser_rights(row)
        if "group_map" in columns:
            columns["mapped_groups"] = validators.mapped_groups(columns.pop("group_map"))
        if "domains" in columns:
            columns["domains"] = [domain.name for domain in columns["domains"]]
        return columns

    def _refuse_token_of_lesser_rights(self, row: IdentityProvider) -> None:
        """Raise SessionRequired if an API token would change how admins or auditors sign in, or who becomes one."""
        if not isinstance(self.request.auth, ScopedAccess):
            return
        if row.group_map_gives_admin:
            raise SessionRequired(_MAKES_ADMINS)
        if selectors.has_privileged_users(row):
            raise SessionRequired("an API token may not change a provider that admins or auditors sign in at: sign in")
