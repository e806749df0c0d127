"""Policy resources of this app: licenses, git tokens and app tokens."""

from django.utils.translation import gettext_lazy as _

from gatewall.engine.model import SubjectKind
from gatewall.policy.resources import PolicyResource
from licensing import selectors, services
from licensing.models import AppToken, GitToken, License
from licensing.serializers import LicenseScopeInput

RESOURCES = (
    PolicyResource(
        model=License,
        title=_("license"),
        help_page="how-to/api-for-machines.md",
        subject=SubjectKind.LICENSE.value,
        selector=selectors.licenses,
        update=services.change_license,
        draft=LicenseScopeInput,
        note="",
    ),
    PolicyResource(
        model=GitToken, title=_("git token"), help_page="how-to/gitea.md", subject=SubjectKind.GIT_TOKEN.value
    ),
    PolicyResource(
        model=AppToken, title=_("app token"), help_page="how-to/app-tokens.md", subject=SubjectKind.APP_TOKEN.value
    ),
)
