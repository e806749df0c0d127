"""Registry of every policy resource."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts import resources as accounts
from gatewall.api.settings_input import SettingsInput
from gatewall.models import SystemSettings
from gatewall.policy import system_settings
from gatewall.policy.resources import PolicyResource
from licensing import resources as licensing
from policies import resources as policies
from webhooks.models import Webhook

RESOURCES: tuple[PolicyResource, ...] = (
    *policies.RESOURCES,
    *accounts.RESOURCES,
    *licensing.RESOURCES,
    PolicyResource(
        model=SystemSettings,
        title=_("settings"),
        help_page="configuration.md#system-settings",
        update=system_settings.change,
        draft=SettingsInput,
        note="",
        is_single=True,
    ),
    PolicyResource(model=Webhook, title=_("webhook"), help_page="webhooks.md"),
)
BY_NAME: Mapping[str, PolicyResource] = {each.name.value: each for each in RESOURCES}
LOGGED: Mapping[str, PolicyResource] = {each.logged_as: each for each in RESOURCES if each.logged_as}
"""Resources by their name in the access log: deciding rows and subjects."""


def named(kind: str) -> PolicyResource | None:
    """Return the resource by its name in the API or in the access log, or None."""
    return LOGGED.get(kind) or BY_NAME.get(kind)


def title_of(kind: str) -> str | Promise:
    """Return the display name of a resource, or the given name if it is unknown."""
    resource = named(kind)
    return resource.title if resource else kind
