"""The system settings over HTTP."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gatewall import revisions, system_settings
from gatewall.api.serializers import FlagField, StrictInput, TextField, WholeNumberField
from gatewall.engine.snapshot import DomainsMode, EnforcementMode, UnknownCountry
from gatewall.models import SystemSettings


def _one_of(enum: Any) -> serializers.ChoiceField:
    return serializers.ChoiceField(choices=[member.value for member in enum], required=False)


class SettingsInput(StrictInput):
    """Any subset of the settings."""

    authorized_domains_mode = _one_of(DomainsMode)
    waf_mode = _one_of(EnforcementMode)
    waf_threshold = WholeNumberField(min_value=1, max_value=100, required=False)
    geo_mode = _one_of(EnforcementMode)
    unknown_country = _one_of(UnknownCountry)
    request_rate_per_minute = WholeNumberField(min_value=0, max_value=1_000_000, required=False)
    session_hours = WholeNumberField(min_value=1, max_value=8760, required=False)
    login_failures_per_account_and_network = WholeNumberField(min_value=1, max_value=1_000, required=False)
    login_failures_per_network = WholeNumberField(min_value=1, max_value=100_000, required=False)
    login_failures_per_account = WholeNumberField(min_value=1, max_value=100_000, required=False)
    login_failure_window_minutes = WholeNumberField(min_value=1, max_value=1440, required=False)
    login_delay_seconds = WholeNumberField(min_value=1, max_value=3600, required=False)
    api_requests_per_minute = WholeNumberField(min_value=60, max_value=1_000_000, required=False)
    recovery_local_only = FlagField(required=False)
    guard_message = TextField(max_length=500, allow_blank=True, required=False)
    contact = TextField(max_length=200, allow_blank=True, required=False)


class SettingsOutput(serializers.ModelSerializer[SystemSettings]):
    """All settings."""

    class Meta:
        model = SystemSettings
        exclude = ("id",)


class Settings(APIView):
    """What operators set while the system runs."""

    def get(self, request: Request) -> Response:
        return Response(SettingsOutput(system_settings.current()).data)

    def put(self, request: Request) -> Response:
        form = SettingsInput(data=request.data)
        form.is_valid(raise_exception=True)
        shown = dict(SettingsOutput(system_settings.change(actor=str(request.user), **form.validated_data)).data)
        return Response({**shown, "policy_pending": True} if revisions.publication_is_pending() else shown)
