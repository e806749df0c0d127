"""Policy resources of this app: users, API tokens and identity providers."""

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import selectors, services
from accounts.models import ApiToken, IdentityProvider, User
from accounts.serializers import UserScopeInput
from gatewall.engine.model import SubjectKind
from gatewall.policy.resources import PolicyResource

RESOURCES = (
    PolicyResource(
        model=User,
        title=_("user"),
        help_page="how-to/family-and-guests.md",
        subject=SubjectKind.USER.value,
        selector=lambda: selectors.users(timezone.now()),
        update=services.change_user,
        draft=UserScopeInput,
        note="",
    ),
    PolicyResource(model=ApiToken, title=_("API token"), help_page="api.md#api-tokens"),
    PolicyResource(model=IdentityProvider, title=_("identity provider"), help_page="operator.md#identity-providers"),
)
