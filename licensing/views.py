"""API: licenses, git tokens and app tokens."""

from typing import Any

from django.db.models import Model, QuerySet
from django.http import Http404

from audit.figures.used_resources import UsedResource
from gatewall.api.permissions import IsAdminOrSelf
from gatewall.api.scopes import USERS
from gatewall.api.serializers import ShownOnce
from gatewall.credentials.machine import MachineToken
from gatewall.engine.model import SubjectKind
from licensing import selectors, services
from licensing.models import AppToken, GitToken, License
from licensing.serializers import (
    AppTokenInput,
    AppTokenOutput,
    GitTokenInput,
    GitTokenOutput,
    LicenseFilters,
    LicenseInput,
    LicenseOutput,
    TokenFilters,
)


class _Tokens(UsedResource):
    area = USERS
    output_on_create = ShownOnce
    _token: MachineToken

    def created(self, row: Model) -> dict[str, Any]:
        return {**super().created(row), "token": self._token.text}

    def delete_row(self, row: License | GitToken | AppToken) -> None:
        services.revoke(row, actor=self.actor)


class Licenses(_Tokens):
    """Licenses: tokens for machines. The token is shown once, at creation."""

    nouns = ("a license", "licenses")
    input, output = LicenseInput, LicenseOutput
    use_kind, volatile = SubjectKind.LICENSE.value, ("last_used_at", "uses")
    filterset_class = LicenseFilters
    ordering_fields = ("id", "created_at", "name", "expires_at")
    search_fields = ("name", "prefix", "remark")

    def get_queryset(self) -> QuerySet[License]:
        return selectors.licenses()

    def create_row(self, **values: Any) -> Model:
        license_, self._token = services.issue_license(actor=self.actor, **values)
        return license_

    def change_row(self, row: License, **values: Any) -> License:
        return services.change_license(row, actor=self.actor, **values)


class _TokensOfUser(_Tokens):
    """Tokens of one user, which are only created and revoked."""

    volatile: tuple[str, ...] = ("last_used_at",)
    filterset_class = TokenFilters
    permission_classes = [IsAdminOrSelf]
    http_method_names = ["get", "head", "options", "post", "delete"]

    def get_queryset(self) -> QuerySet[Any]:
        if not selectors.user_exists(self._user_id):
            raise Http404
        return self.rows_of(self._user_id)

    def create_row(self, **values: Any) -> Model:
        if not selectors.user_exists(self._user_id):
            raise Http404
        row: Model
        row, self._token = self.issue(actor=self.actor, user_id=self._user_id, **values)
        return row

    def rows_of(self, user_id: int) -> QuerySet[Any]:
        """Return the tokens of a user."""
        raise NotImplementedError

    def issue(self, **values: Any) -> tuple[Any, MachineToken]:
        """Create a token."""
        raise NotImplementedError

    @property
    def _user_id(self) -> int:
        return int(self.kwargs["user_id"])


class GitTokens(_TokensOfUser):
    """Git tokens: tokens of a user for git, instead of the password."""

    nouns = ("a git token", "the git tokens of a user")
    input, output = GitTokenInput, GitTokenOutput
    use_kind = SubjectKind.GIT_TOKEN.value

    def rows_of(self, user_id: int) -> QuerySet[GitToken]:
        return selectors.git_tokens_of(user_id)

    def issue(self, **values: Any) -> tuple[GitToken, MachineToken]:
        return services.issue_git_token(**values)


class AppTokens(_TokensOfUser):
    """App tokens: tokens of a user for programs that cannot sign in, for some domains and paths."""

    nouns = ("an app token", "the app tokens of a user")
    input, output = AppTokenInput, AppTokenOutput
    use_kind, volatile = SubjectKind.APP_TOKEN.value, ("last_used_at", "last_used_by")

    def rows_of(self, user_id: int) -> QuerySet[AppToken]:
        return selectors.app_tokens_of(user_id)

    def issue(self, **values: Any) -> tuple[AppToken, MachineToken]:
        return services.issue_app_token(**values)
