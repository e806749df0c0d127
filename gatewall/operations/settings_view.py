"""API view of the system settings."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api import etags
from gatewall.api.operations import operation
from gatewall.api.scopes import SYSTEM
from gatewall.api.settings_input import SettingsInput
from gatewall.api.views import ApiView
from gatewall.models import SystemSettings
from gatewall.policy import revisions, system_settings


class SettingsOutput(serializers.ModelSerializer[SystemSettings]):
    """All settings."""

    class Meta:
        model = SystemSettings
        exclude = ("id",)


class SettingsChanged(SettingsOutput):
    """All settings, and whether they are in force on this host."""

    policy_pending = serializers.BooleanField(required=False)

    class Meta(SettingsOutput.Meta):
        pass


class Settings(ApiView):
    """System settings."""

    area = SYSTEM

    @operation(answer=SettingsOutput, is_tagged=True)
    def get(self, request: Request) -> Response:
        """Show the system settings."""
        shown = _shown(system_settings.current())
        return etags.conditional_response(request, shown, etags.tag_of(shown))

    @operation(body=SettingsInput, answer=SettingsChanged, is_tagged=True, is_partial=True)
    def put(self, request: Request) -> Response:
        """Change the settings that are sent."""
        values = self.body(SettingsInput)
        change = _change_as_they_are if etags.has_condition(request) else _change
        shown = _shown(change(request, values))
        body = {**shown, "policy_pending": True} if revisions.publication_is_pending() else shown
        return Response(body, headers={"ETag": etags.tag_of(shown)})


def _change(request: Request, values: dict[str, Any]) -> SystemSettings:
    return system_settings.change(actor=str(request.user), **values)


@revisions.one_at_a_time  # under the policy lock, from checking the tag to the commit
def _change_as_they_are(request: Request, values: dict[str, Any]) -> SystemSettings:
    etags.refuse_stale(request, etags.tag_of(_shown(system_settings.current())))
    return _change(request, values)


def _shown(settings: SystemSettings) -> dict[str, Any]:
    return dict(SettingsOutput(settings).data)
